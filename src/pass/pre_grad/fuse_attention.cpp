// Replaces spelled-out attention by one call.
//
//   s = bmm(q, k^T);  p = softmax(s * c + mask);  y = bmm(dropout(p), v)
//     ->  y = scaled_dot_product_attention(q, k, v, mask; scale=c, dropout_p, is_causal, ...)
//
// pass/attention_reader.h describes what is recognized as attention. Dropout keeps its stream,
// hence its bits. Rounding differs: weights are never rounded to half, and sums have another order.
// A row that is masked entirely gives zeros or has another gradient, where a softmax without a
// guard gives NaN or equal weights. A trained mask (T5, Swin, BEiT, DeBERTa) has its gradient from
// the call.
#include "pass/attention_reader.h"
#include "pass/passes.h"

namespace cleave {
namespace {

Result<PassCount> run(Graph& g, const OpRegistry& ops) {
  PassCount count;
  for (const NodeId n : g.order()) {
    if (g.node(n).erased) continue;
    const std::optional<SpelledAttention> a = read_attention(g, n);
    if (!a) continue;
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
