// Attention drops a mask that masks nothing.
//
//   %positions = arange(; end=64)
//   %open = ge(%positions; other=0)
//   %mask = expand(%open; size=[2,1,64,64])
//   %y = scaled_dot_product_attention(%q, %k, %v, %mask)
//     ->
//   %y = scaled_dot_product_attention(%q, %k, %v)
//
// A bool mask is true everywhere, an added one 0 (uniform_value.h), and its gradient isn't wanted.
// Models write such a mask where their inputs have no padding; one kernel computes attention
// without a mask, which is several products with one on some devices.
#include "op/attention_call.h"
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

Result<PassCount> run(Graph& g, const OpRegistry&) {
  const UniformValues uniform(g);
  PassCount count;
  for (const NodeId n : g.order()) {
    const OpView op = g.view(n);
    const std::optional<AttentionCall> call = read_attention_call(op);
    if (!call || !op.has(call->mask) || call->wants_mask_gradient) continue;
    if (!is_open(uniform, op, call->mask)) continue;
    g.set_input(n, static_cast<uint32_t>(op.flat(call->mask)), {});
    ++count.matches;
    ++count.nodes;
  }
  CLEAVE_CHECK(g.refresh_types());
  return count;
}

}  // namespace

Pass drop_open_masks() {
  return {.name = "drop_open_masks",
          .summary = "attention drops a mask that masks nothing",
          .run = run,
          .rounds = true};
}

}  // namespace cleave
