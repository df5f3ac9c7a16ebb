// logsumexp(self; dim, keepdim) -> y     y = m + log(sum of exp(x - m)) over dim
//
//   m is the largest element, 0 if that is infinite; no elements: -inf. Integers become f32.
//   (C1) dims in range  (C2) each once
// Gradient: dx = dy * exp(x - y).
#include <cmath>

#include "op/promotion.h"
#include "op/reduction.h"
#include "op/reference_sum.h"
#include "op/wide_grad.h"

namespace cleave {
namespace {

Result<Types> infer_logsumexp(const OpView& op) {
  return reduced_type(op, to_floating(op.in_type(0).dtype));
}

Result<Arrays> reference_logsumexp(const OpView& op, std::span<const Array* const> in) {
  const Array x = in[0]->floating() ? *in[0] : converted_array(*in[0], DType::f32);
  const auto fold = [](const Array& a, const std::vector<int64_t>& line) {
    double top = -INFINITY;
    ReferenceSum sum;
    for (int64_t at : line) top = std::isnan(a.f[at]) || a.f[at] > top ? a.f[at] : top;
    if (std::isinf(top)) top = 0;
    for (int64_t at : line) sum += std::exp(a.f[at] - top);
    return top + std::log(sum);
  };
  return Arrays{fold_lines(op, x, x.dtype, fold, nullptr)};
}

Values decompose_logsumexp(Builder& b, const OpView& op) {
  const std::vector<int64_t> dims = reduction_dims(op);
  const Shape shape = op.in_type(0).shape, folded = op.out_type(0).shape;
  const DType y = op.out_type(0).dtype;
  const ValueId x = b.convert(op.in(0), wide(y));
  if (dims.empty()) return {b.convert(x, y)};
  if (op.env().provably_equal(count_along(shape, dims), 0))
    return {b.convert(b.log(b.sum(b.exp(x), dims, op.bool_attr("keepdim"))), y)};
  ValueId top = b.amax(x, dims, true);
  top = b.where(b.call1("isinf", {top}), 0.0, top);
  const ValueId sum = b.log(b.sum(b.exp(b.sub(x, top)), dims, true));
  return {b.convert(b.view(b.add(top, sum), folded), y)};
}

OpDef logsumexp() {
  return OpDef{
      .name = "logsumexp",
      .signature = "(Tensor self, int[1] dim, bool keepdim=False) -> Tensor",
      .summary = "The logarithm of the sum of exponentials over dims.",
      .source = "aten::logsumexp, PyTorch 2.13",
      .traits = reduction_traits,
      .infer = infer_logsumexp,
      .reference = reference_logsumexp,
      .decompose = decompose_logsumexp,
      .grad = wide_grad([](Builder& b, const GradView& op) -> Values {
        const std::vector<int64_t> dims = reduction_dims(op);
        const ValueId y = kept_out(b, op, dims);
        return {b.mul(b.exp(b.sub(op.in(0), y)), kept_dout(b, op, dims))};
      }),
      .lower = loop::by_decomposition(),
      .cost = cost_per_operand(12),
      .samples =
          [] {
            return joined(
                {over_dtypes(all_dtypes, {3, 4}, {{"dim", {1}}}),
                 {{{f32({2, 3})}, {{"dim", {0}}, {"keepdim", true}}},
                  {{f32({2, 3, 2})}, {{"dim", {0, -1}}}},
                  {{f32({2, 70})}, {{"dim", {0}}}},
                  {{f32({})}, {{"dim", {0}}}},
                  {{f32({0, 2})}, {{"dim", {0}}}},
                  {{f32({2, 0})}, {{"dim", {0}}}},
                  {{f32({3}).range(900, 1000)}, {{"dim", {0}}}},
                  {{f32({2, 2}).with({-INFINITY, -INFINITY, 1, INFINITY})}, {{"dim", {1}}}},
                  {{f32({2}).with({NAN, 1})}, {{"dim", {0}}}}}});
          },
      .rejects = []() -> Rejects {
        return {{"C1",
                 {{f32({2, 3})}, {{"dim", {2}}}},
                 "logsumexp: C1: dim 2 is outside [-2, 2) of self: f32[2,3]"},
                {"C2",
                 {{f32({2, 3})}, {{"dim", {0, 0}}}},
                 "logsumexp: C2: dim 0 is named twice in [0,0], expected once"}};
      },
  };
}

}  // namespace

CLEAVE_OPS(logsumexp) { return {logsumexp()}; }

}  // namespace cleave
