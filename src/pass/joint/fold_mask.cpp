// Attention drops a mask that masks nothing, or only what follows the diagonal.
//
//   %positions = arange(; end=64)
//   %open = ge(%positions; other=0)
//   %mask = expand(%open; size=[2,1,64,64])
//   %y = scaled_dot_product_attention(%q, %k, %v, %mask)
//     ->
//   %y = scaled_dot_product_attention(%q, %k, %v)
//
// A bool mask is true everywhere, or an added one 0 (uniform_value.h): it goes. A mask that is open
// where column <= row (causal_mask.h) becomes is_causal. Unless the mask's gradient is wanted.
// Models write such masks where their inputs have no padding; without one, attention is one kernel
// on every device, and a causal one computes half.
#include <unordered_map>

#include "op/attention_call.h"
#include "pass/causal_mask.h"
#include "pass/passes.h"
#include "pass/uniform_value.h"

namespace cleave {
namespace {

// What is known of the masks of a graph. Most layers of a model share one.
class Masks {
 public:
  explicit Masks(const Graph& g) : g_(g), uniform_(g) {}

  bool is_open(ValueId mask) const {
    const AttrValue* number = uniform_.find(mask);
    return number && (number->as_double() != 0) == (g_.type(mask).dtype == DType::boolean);
  }
  bool is_causal(ValueId mask) {
    const auto [known, is_new] = causal_.try_emplace(mask.v);
    if (is_new) known->second = g_.type(mask).rank() >= 2 && is_causal_mask(g_, mask);
    return known->second;
  }

 private:
  const Graph& g_;
  const UniformValues uniform_;
  std::unordered_map<uint32_t, bool> causal_;
};

struct MaskedCall {
  NodeId node;
  int mask;  // operand
};

std::vector<MaskedCall> masked_calls(const Graph& g) {
  std::vector<MaskedCall> out;
  for (NodeId n = g.first_node(); n.valid(); n = g.next_node(n)) {
    if (!is_attention(g.node(n).op->name)) continue;
    const OpView op = g.view(n);
    const std::optional<AttentionCall> call = read_attention_call(op);
    if (call && op.has(call->mask) && !call->wants_mask_gradient) out.push_back({n, call->mask});
  }
  return out;
}

Result<PassCount> run(Graph& g, const OpRegistry&) {
  const std::vector<MaskedCall> calls = masked_calls(g);
  if (calls.empty()) return PassCount();
  Masks masks(g);
  PassCount count;
  for (const auto& [n, operand] : calls) {
    const OpView op = g.view(n);
    const ValueId mask = op.in(operand);
    if (!masks.is_open(mask)) {
      if (op.bool_attr("is_causal") || !masks.is_causal(mask)) continue;
      g.set_attr(n, static_cast<uint16_t>(op.def().schema.find("is_causal")), true);
    }
    g.set_input(n, static_cast<uint32_t>(op.flat(operand)), {});
    ++count.matches;
    ++count.nodes;
  }
  CLEAVE_CHECK(g.refresh_types());
  return count;
}

}  // namespace

Pass fold_mask() {
  return {.name = "fold_mask",
          .summary = "attention drops a mask that masks nothing, or only what follows the diagonal",
          .run = run,
          .rounds = true};
}

}  // namespace cleave
