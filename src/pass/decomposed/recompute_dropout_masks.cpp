// A mask of dropout isn't kept for readers far away: they draw it again.
//
//   %y, %m = native_dropout(%x, %rng; p, stream)    ...    %d = mul(%g, %m)
//     ->  %y, %m = native_dropout(%x, %rng; p, stream)    ...
//         %u = rand(%rng; size, stream)    %k = ge(%u, p)    %d = mul(%g, %k)
//
// To the last bit: rand's numbers are those that the dropout compares with p, multiples of 2^-24,
// and p is rounded up to one. Computing the dropout again would need %x, which is gone by then; the
// numbers need the state alone, and one is drawn in less time than a byte of mask takes to be
// written and read. Far is what no kernel holds together: a product, a convolution or attention
// stands between. A mask that is returned, viewed or tagged stays.
#include <cmath>

#include "ir/subgraph.h"
#include "pass/call_order.h"
#include "pass/passes.h"

namespace cleave {
namespace {

constexpr double word_step = 1.0 / 16777216;  // 2^-24

bool is_training_dropout(const Graph& g, NodeId n) {
  const Node& node = g.node(n);
  if (node.op->name != "native_dropout" || node.tag.policy != Recompute::unset) return false;
  const OpView op = g.view(n);
  return !op.given("train") || op.bool_attr("train");
}

// By node: how many products and the like stand before it.
std::vector<size_t> intensive_before(const Graph& g) {
  std::vector<size_t> before(g.node_capacity());
  size_t count = 0;
  for (NodeId n = g.first_node(); n.valid(); n = g.next_node(n)) {
    before[n.v] = count;
    if (has(traits_of(g.node(n)), Trait::compute_intensive)) ++count;
  }
  return before;
}

Result<PassCount> run(Graph& g, const OpRegistry& ops) {
  const std::vector<bool> is_returned = returned_values(g);
  const std::vector<size_t> at = positions(g), intensive = intensive_before(g);
  PassCount count;
  for (const NodeId n : g.order()) {
    if (!is_training_dropout(g, n)) continue;
    const ValueId mask = g.node(n).out(1);
    std::vector<Use> far;
    bool is_viewed = false;
    for (const Use& use : g.uses(mask)) {
      is_viewed |= has(traits_of(g.node(use.node)), Trait::view);
      if (intensive[use.node.v] > intensive[n.v]) far.push_back(use);
    }
    if (far.empty() || is_viewed || is_returned[mask.v]) continue;
    const NodeId first =
        std::ranges::min_element(far, {}, [&](const Use& use) { return at[use.node.v]; })->node;
    const OpView dropout = g.view(n);
    Builder b(g, ops);
    b.insert_before(first);
    b.set_loc(g.node(n).loc);
    const ValueId drawn =
        b.call1("rand", {dropout.in(1)},
                {{"size", g.type(mask).shape}, {"stream", dropout.int_attr("stream")}});
    const double p = std::ceil(dropout.float_attr("p") / word_step) * word_step;
    const ValueId again = b.call1("ge", {drawn, p});
    CLEAVE_CHECK(b.status());
    for (const Use& use : far) g.set_input(use.node, use.operand, again);
    ++count.matches;
    ++count.nodes;
  }
  return count;
}

}  // namespace

Pass recompute_dropout_masks() {
  return {.name = "recompute_dropout_masks",
          .summary = "masks of dropout are drawn again where they are read far away",
          .run = run};
}

}  // namespace cleave
