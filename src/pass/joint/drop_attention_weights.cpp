// Gives a backward of attention the logarithms of the weights' sums instead of the weights.
//
//   s = bmm(q, k^T);  w = softmax(s * c + mask);  y = bmm(w, v)
//   _scaled_dot_product_flash_attention_for_cpu_backward(g, q, k, v, y, w, mask)
//     ->
//   y, l = _scaled_dot_product_flash_attention_for_cpu(q, k, v; attn_mask=mask)
//   _scaled_dot_product_flash_attention_for_cpu_backward(g, q, k, v, y, l, mask)
//
// PyTorch's decomposition of attention leaves this in a joint graph: the forward is spelled out,
// and the weights [batch,heads,rows,columns] take the place of the sums [batch,heads,rows].
#include <algorithm>
#include <cmath>

#include "ir/op_view.h"
#include "pass/attention_reader.h"
#include "pass/passes.h"

namespace cleave {
namespace {

constexpr int first_operand = 1, weights_operand = 5, mask_operand = 6;

double scale_of(const OpView& backward) {
  if (backward.given("scale")) return backward.float_attr("scale");
  return 1 / std::sqrt(static_cast<double>(backward.in_type(first_operand).shape[3].value()));
}

ValueId mask_of(const OpView& backward) {
  return backward.has(mask_operand) ? backward.in(mask_operand) : ValueId{};
}

// Whether the backward belongs to this forward.
bool belongs(const Graph& g, const OpView& backward, const SpelledAttention& a) {
  const ValueId weights = backward.in(weights_operand);
  if (std::ranges::find(a.calls, g.value(weights).def) == a.calls.end()) return false;
  if (a.is_key_transposed || a.is_grouped || a.rng.valid() || a.masks.size() > 1) return false;
  if (backward.in(1) != a.query || backward.in(2) != a.key || backward.in(3) != a.value)
    return false;
  if (backward.float_attr("dropout_p") != 0 || backward.bool_attr("is_causal") != a.is_causal)
    return false;
  if (std::fabs(scale_of(backward) - a.scale) > 1e-6 * std::fabs(a.scale)) return false;
  const ValueId mask = mask_of(backward);
  if (a.masks.empty()) return !mask.valid();
  const AttentionMask& m = a.masks[0];
  return m.value == mask && !m.fill && m.scale == 1;
}

// The product that uses the weights.
NodeId product_of(const Graph& g, ValueId weights) {
  for (const Use& use : g.uses(weights)) {
    const Node& user = g.node(use.node);
    if (user.op->name == "bmm" && use.operand == 0) return use.node;
    if (user.op->name == "view" || user.op->name == "expand" || user.op->name == "reshape")
      if (const NodeId found = product_of(g, user.out(0)); found.valid()) return found;
  }
  return {};
}

Status hand_over_sums(Graph& g, const OpRegistry& ops, NodeId backward, const SpelledAttention& a) {
  const NodeId last = g.value(a.out).def;
  const OpView call = g.view(backward);
  Builder b(g, ops);
  b.insert_before(last);
  b.set_loc(g.node(last).loc);
  b.set_tag(g.node(last).tag);
  std::vector<CallOperand> operands = {a.query, a.key, a.value};
  if (const ValueId mask = mask_of(call); mask.valid()) operands.emplace_back(mask);
  const Values made = b.call("_scaled_dot_product_flash_attention_for_cpu", std::move(operands),
                             {{"is_causal", a.is_causal}, {"scale", call.attr("scale")}});
  const ValueId y = made.empty() ? ValueId{} : b.view(made[0], g.type(a.out).shape);
  CLEAVE_CHECK(b.status());
  g.replace_uses(a.out, y);
  g.set_input(backward, weights_operand, made[1]);
  return g.refresh_types();
}

Result<PassCount> run(Graph& g, const OpRegistry& ops) {
  PassCount count;
  for (const NodeId n : g.order()) {
    if (g.node(n).op->name != "_scaled_dot_product_flash_attention_for_cpu_backward") continue;
    const OpView call = g.view(n);
    if (call.in_type(weights_operand).rank() != 4 || !call.in_type(first_operand).is_static())
      continue;
    const NodeId last = product_of(g, call.in(weights_operand));
    if (!last.valid()) continue;
    const std::optional<SpelledAttention> a = read_attention(g, last, OtherReaders::any);
    if (!a || !belongs(g, call, *a)) continue;
    CLEAVE_CHECK(hand_over_sums(g, ops, n, *a));
    ++count.matches;
    count.nodes += std::ssize(a->calls) + 1;
  }
  return count;
}

}  // namespace

Pass drop_attention_weights() {
  return {.name = "drop_attention_weights",
          .summary = "a backward of attention that was handed the weights takes their sums",
          .run = run,
          .rounds = true};
}

}  // namespace cleave
