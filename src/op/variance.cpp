// var(self; dim, unbiased, correction, keepdim) -> y
//
//   y = sum over dim of (x - mean)^2 / max(0, count - c)
//   c = correction if given, else 1 if unbiased, else 0
//
//   (C1) dims in range  (C2) each once  (C3) self is floating
// The mean is subtracted first, so that a large mean costs no precision. Gradient:
// dx = dy * 2 (x - mean) / max(0, count - c).
#include <cmath>

#include "op/reduction.h"
#include "op/reference_sum.h"
#include "op/wide_grad.h"

namespace cleave {
namespace {

double correction_of(const OpView& op) {
  if (op.given("correction")) return op.float_attr("correction");
  return op.bool_attr("unbiased") ? 1 : 0;
}

Result<Types> infer_var(const OpView& op) {
  CLEAVE_CHECK(check_floating(op, "C3", 0));
  return reduced_type(op, op.in_type(0).dtype);
}

Result<Arrays> reference_var(const OpView& op, std::span<const Array* const> in) {
  double correction = op.bool_attr("unbiased") ? 1 : 0;
  if (!op.attr("correction").is_none()) correction = op.float_attr("correction");
  const auto fold = [&](const Array& x, const std::vector<int64_t>& line) {
    const auto count = static_cast<double>(line.size());
    ReferenceSum sum, squares;
    for (int64_t at : line) sum += x.f[at];
    const double mean = sum / count;
    for (int64_t at : line) squares += (x.f[at] - mean) * (x.f[at] - mean);
    return squares / std::max(0.0, count - correction);
  };
  return Arrays{fold_lines(op, *in[0], in[0]->dtype, fold, nullptr)};
}

// max(0, count - c), as a number if the count is known. ATen's gradient by dims uses count - c
// unclamped, so that a correction above the count gives a finite gradient there.
CallOperand freedom(Builder& b, const OpView& op, const std::vector<int64_t>& dims,
                    bool at_least_zero = true) {
  const CallOperand count = count_operand(b, op.in(0), dims);
  const double c = correction_of(op), least = at_least_zero ? 0.0 : -HUGE_VAL;
  if (!count.number.is_none()) return std::max(least, count.number.as_double() - c);
  const ValueId rest = b.sub(count, c);
  return at_least_zero ? b.call1("clamp", {rest, 0.0}) : rest;
}

Values decompose_var(Builder& b, const OpView& op) {
  const std::vector<int64_t> dims = reduction_dims(op);
  const DType t = op.in_type(0).dtype;
  const bool keepdim = op.bool_attr("keepdim");
  const CallOperand by = freedom(b, op, dims);
  const ValueId x = b.convert(op.in(0), wide(t));
  if (dims.empty()) {
    const ValueId off = b.sub(x, x);
    return {b.convert(b.div(b.mul(off, off), by), t)};
  }
  const ValueId off = b.sub(x, b.mean(x, dims, true));
  return {b.convert(b.div(b.sum(b.mul(off, off), dims, keepdim), by), t)};
}

Values grad_var(Builder& b, const GradView& op) {
  const std::vector<int64_t> dims = reduction_dims(op);
  const DType t = op.in_type(0).dtype;
  const CallOperand by = freedom(b, op, dims, !op.given("dim"));
  const ValueId x = b.convert(op.in(0), wide(t));
  const ValueId d = b.convert(kept_dout(b, op, dims), wide(t));
  const ValueId off = b.sub(x, dims.empty() ? x : b.mean(x, dims, true));
  return {b.convert(b.mul(b.div(b.mul(off, 2.0), by), d), t)};
}

OpDef var() {
  return OpDef{
      .name = "var",
      .signature =
          "(Tensor self, int[1]? dim=None, bool unbiased=True, bool keepdim=False, *, "
          "Scalar? correction=None) -> Tensor",
      .summary = "The variance over dims.",
      .source = "aten::var, var.dim, var.correction, PyTorch 2.13",
      .traits = reduction_traits,
      .infer = infer_var,
      .reference = reference_var,
      .decompose = decompose_var,
      .grad = grad_var,
      .lower = loop::by_decomposition(),
      .cost = cost_per_operand(4),
      .samples =
          [] {
            return joined({fold_samples(DType::f32),
                           fold_samples(DType::bf16),
                           over_dtypes(floating_dtypes, {3, 4}, {{"dim", {0}}, {"correction", 0}}),
                           {{{f32({2, 3})}, {{"dim", {1}}, {"unbiased", false}}},
                            {{f32({2, 3})}, {{"dim", {1}}, {"correction", 0.5}}},
                            {{f32({2, 3})}, {{"dim", {1}}, {"correction", 5}}},
                            {{f32({2, 3})}, {{"unbiased", false}, {"correction", 2}}},
                            {{f32({4, 70})}, {{"dim", {0}}, {"keepdim", true}}},
                            {{f32({3, 2, 5})}, {{"dim", {0, 2}}}},
                            {{f32({2, 5}).range(1000, 1001)}, {{"dim", {1}}}},
                            {{bf16({2, 5}).range(100, 102)}, {{"dim", {1}}}},
                            {{f32({1, 3})}, {{"dim", {0}}}},
                            {{f32({0, 3})}, {{"dim", {0}}}}}});
          },
      .rejects = []() -> Rejects {
        return {{"C1",
                 {{f32({2, 3})}, {{"dim", {2}}}},
                 "var: C1: dim 2 is outside [-2, 2) of self: f32[2,3]"},
                {"C2",
                 {{f32({2, 3})}, {{"dim", {0, 0}}}},
                 "var: C2: dim 0 is named twice in [0,0], expected once"},
                {"C3", {{i64({2})}}, "var: C3: self is i64[2], expected a floating dtype"}};
      },
  };
}

}  // namespace

CLEAVE_OPS(variance) { return {var()}; }

}  // namespace cleave
