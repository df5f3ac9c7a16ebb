// _functional_assert_async(self, assert_msg, dep_token) -> y     y = dep_token; fails if self is 0
//
//   self       (C1) one element, of any dtype; NaN is not 0
//   dep_token  [*s], any dtype: who reads y, runs after the check
//   (C2) operands are on one device
//
// The failure's text is assert_msg. No placeholder is updated in a run that fails.
#include "op/broadcast.h"
#include "op/cost.h"
#include "op/dims.h"
#include "op/entry.h"
#include "op/kernel_loops.h"
#include "op/pointwise_lower.h"
#include "op/sample_sets.h"

namespace cleave {
namespace {

using loop::Exprs;

Result<Types> infer(const OpView& op) {
  const Type &self = op.in_type(0), &token = op.in_type(1);
  if (!op.env().provably_equal(self.numel(), Dim(1)))
    return op.broken("C1", "self is {}, expected one element", self.text());
  CLEAVE_CHECK(common_device(op, "C2", {0, 1}));
  return Types{typed_like(token, token.dtype, token.shape)};
}

Result<Arrays> reference(const OpView& op, std::span<const Array* const> in) {
  if (in[0]->number(0) == 0) return user_error("{}", op.str_attr("assert_msg"));
  return Arrays{*in[1]};
}

void lower(loop::KernelBuilder& k, const OpView& op) {
  k.parallel({}, [&](const Exprs&) {
    const loop::Expr self = k.load(0, Exprs(k.operand(0).layout.shape.size(), loop::Expr(0)));
    k.check(loop::binary(loop::Op::ne, self, loop::same(self, 0)), op.str_attr("assert_msg"));
  });
  copy_to_result(k, 1);
}

Sample call(SampleTensor self, SampleTensor token) {
  return {{std::move(self), std::move(token)}, {{"assert_msg", "self is 0"}}};
}

}  // namespace

CLEAVE_OPS(functional_assert) {
  return {OpDef{
      .name = "_functional_assert_async",
      .signature = "(Tensor self, str assert_msg, Tensor dep_token) -> Tensor",
      .summary = "dep_token, after a check that self is not 0.",
      .source = "aten::_functional_assert_async.msg, PyTorch 2.13",
      .traits = Trait::data_dependent,
      .infer = infer,
      .reference = reference,
      .decompose = Absent{"primitive: a check of the run"},
      .grad = [](Builder&, const GradView& op) -> Values { return {{}, op.dout(0)}; },
      .lower = loop::kernel(lower),
      .cost = cost_per_result(0),
      .samples = []() -> Samples {
        const SampleTensor one = i64({}).range(1, 9);
        return {call(one, f32({})),
                call(one, f32({3, 4})),
                call(one, bf16({5})),
                call(one, i64({2})),
                call(one, boolean({3})),
                call(one, f64({0, 2})),
                call(i32({1}).range(-4, -1), f64({2})),
                call(boolean({1, 1}).range(1, 1), f32({2})),
                call(f32({}).with({std::numeric_limits<double>::quiet_NaN()}), f32({2})),
                call(f64({1}).range(1, 2), f64({4}))};
      },
      .rejects = []() -> Rejects {
        const std::string name = "_functional_assert_async: ";
        return {{"C1", call(i64({2}).range(1, 9), f32({2})),
                 name + "C1: self is i64[2], expected one element"},
                {"self is 0", call(i64({}).with({0}), f32({2})), "self is 0"},
                {"self is 0", call(f32({1}).with({-0.0}), i64({})), "self is 0"},
                {"self is 0", call(boolean({}).with({0}), f32({0})), "self is 0"}};
      },
  }};
}

}  // namespace cleave
