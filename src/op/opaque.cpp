// opaque(self) -> y      y = self, in a buffer of its own
//
//   self  [*s]   any dtype
//
// An optimization barrier: it reads self and writes a fresh buffer, and is never fused, merged with
// another call, moved, removed or recomputed. The gradient passes through it unchanged.
#include "op/cost.h"
#include "op/entry.h"
#include "op/kernel_loops.h"
#include "op/sample_sets.h"

namespace cleave {

CLEAVE_OPS(opaque) {
  return {OpDef{
      .name = "opaque",
      .signature = "(Tensor self) -> Tensor",
      .summary = "The identity, as a border that no optimisation crosses.",
      .source = "cleave",
      .traits = Trait::effect,
      .infer = [](const OpView& op) -> Result<Types> {
        Type y(op.in_type(0).dtype, op.in_type(0).shape);
        y.device = op.in_type(0).device;
        return Types{std::move(y)};
      },
      .reference = [](const OpView&, std::span<const Array* const> in) -> Result<Arrays> {
        return Arrays{*in[0]};
      },
      .decompose = Absent{"a border is not taken apart"},
      .grad = [](Builder&, const GradView& op) -> Values { return {op.dout(0)}; },
      .lower = loop::kernel([](loop::KernelBuilder& k, const OpView&) { copy_to_result(k, 0); }),
      .cost = cost_per_result(0),
      .samples =
          [] {
            return joined({over_dtypes(all_dtypes, {3, 4}),
                           {{{f32({})}}, {{f32({5000})}}, {{f32({2, 0})}}, {{i64({2, 3, 4})}}}});
          },
      .rejects = {},
  }};
}

}  // namespace cleave
