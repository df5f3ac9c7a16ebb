// Recomputes a dropout mask for distant users instead of keeping it.
//
//   %y, %m = native_dropout(%x, %rng; p, stream)    ...    %d = mul(%g, %m)
//     ->  %y, %m = native_dropout(%x, %rng; p, stream)    ...
//         %u = rand(%rng; size, stream)    %k = ge(%u, p)    %d = mul(%g, %k)
//
// Bit for bit: rand gives the numbers that the dropout compares with p, multiples of 2^-24, and p
// is rounded up to one. Recomputing the dropout itself would need %x, which is dead by then; the
// numbers need only the random state, and drawing one takes less time than writing and reading a
// byte of mask. Distant users are those that no kernel can fuse with the dropout: a product,
// convolution or attention is in between. A mask that is returned, viewed or tagged is kept.
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

// By node: the number of products, convolutions and attention calls before it.
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
