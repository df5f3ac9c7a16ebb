// Replaces spelled-out attention by one call.
//
//   s = bmm(q, k^T);  p = softmax(s * c + mask);  y = bmm(dropout(p), v)
//     ->  y = scaled_dot_product_attention(q, k, v, mask; scale=c, dropout_p, is_causal, ...)
//
// pass/attention_reader.h describes what is recognized as attention. Dropout keeps its stream,
// hence its bits. Rounding differs: weights are never rounded to half, and sums have another order.
// A row that is masked entirely gives zeros or has another gradient, where a softmax without a
// guard gives NaN or equal weights. Attention with a trained mask is left alone: the mask's
// gradient needs the weights row by column.
#include <algorithm>

#include "pass/attention_reader.h"
#include "pass/passes.h"

namespace cleave {
namespace {

// Values that depend on something trained.
std::vector<bool> trained_values(const Graph& g) {
  std::vector<bool> trained(g.value_capacity());
  for (const Placeholder& p : g.placeholders())
    trained[p.value.v] = p.wants_grad || p.role == Role::param;
  for (NodeId n = g.first_node(); n.valid(); n = g.next_node(n)) {
    const Node& node = g.node(n);
    const bool any =
        std::ranges::any_of(node.inputs, [&](ValueId v) { return v.valid() && trained[v.v]; });
    for (uint32_t k = 0; k < node.output_count; ++k) trained[node.out(k).v] = any;
  }
  return trained;
}

Result<PassCount> run(Graph& g, const OpRegistry& ops) {
  PassCount count;
  const std::vector<bool> trained = trained_values(g);
  const auto is_trained = [&](const AttentionMask& m) {
    return m.value.v < trained.size() && trained[m.value.v];
  };
  for (const NodeId n : g.order()) {
    if (g.node(n).erased) continue;
    const std::optional<SpelledAttention> a = read_attention(g, n);
    if (!a || std::ranges::any_of(a->masks, is_trained)) continue;
    Builder b(g, ops);
    b.insert_before(n);
    b.set_loc(g.node(n).loc);
    b.set_tag(g.node(n).tag);
    const ValueId y = write_attention(b, *a, g.type(a->out).shape);
    CLEAVE_CHECK(b.status());
    g.replace_uses(a->out, y);
    ++count.matches;
    count.nodes += std::ssize(a->calls);
  }
  return count;
}

}  // namespace

Pass fuse_attention() {
  return {.name = "fuse_attention",
          .summary = "spelled attention becomes one call",
          .run = run,
          .rounds = true,
          .assumes_open_rows = true};
}

}  // namespace cleave
