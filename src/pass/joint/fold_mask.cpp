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

bool is_open(const UniformValues& uniform, const OpView& call, int mask) {
  const AttrValue* number = uniform.find(call.in(mask));
  if (!number) return false;
  return call.in_type(mask).dtype == DType::boolean ? number->as_double() != 0
                                                    : number->as_double() == 0;
}

// Of a model's layers, most share one mask.
class CausalMasks {
 public:
  explicit CausalMasks(const Graph& g) : g_(g) {}

  bool has(ValueId mask) {
    const auto [known, is_new] = known_.try_emplace(mask.v);
    if (is_new) known->second = g_.type(mask).rank() >= 2 && is_causal_mask(g_, mask);
    return known->second;
  }

 private:
  const Graph& g_;
  std::unordered_map<uint32_t, bool> known_;
};

Result<PassCount> run(Graph& g, const OpRegistry&) {
  const UniformValues uniform(g);
  CausalMasks causal(g);
  PassCount count;
  for (const NodeId n : g.order()) {
    const OpView op = g.view(n);
    const std::optional<AttentionCall> call = read_attention_call(op);
    if (!call || !op.has(call->mask) || call->wants_mask_gradient) continue;
    if (!is_open(uniform, op, call->mask)) {
      if (op.bool_attr("is_causal") || !causal.has(op.in(call->mask))) continue;
      g.set_attr(n, static_cast<uint16_t>(op.def().schema.find("is_causal")), true);
    }
    g.set_input(n, static_cast<uint32_t>(op.flat(call->mask)), {});
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
