// packed_convolution(input, panels, bias; weight_size, stride, padding, dilation, ...) -> y
//
//   convolution(input, weight, bias) with weight[s,l,k..] of shape weight_size, which is in
//   panels[s / 32, p, s % 32], p the row-major index of (l, k..)
//
//   panels f32[a,p,32]  (L1) a is that of weight_size, rounded up; numbers for no s don't matter
//   (L2) f32, neither transposed nor in groups
//   (C1..C8) convolution.h, with the weight of this shape
//
// Bitwise equal to convolution, which needs this order while it runs. pack_weights creates it in
// frozen programs, with the attributes of the convolution.
#include "op/broadcast.h"
#include "op/convolution.h"
#include "op/reference_sum.h"

namespace cleave {
namespace {

constexpr int64_t panels_of(int64_t channels) { return (channels + gemm_panel - 1) / gemm_panel; }

Type weight_type(const OpView& op) {
  Type t(DType::f32, op.dims_attr("weight_size"));
  t.device = op.in_type(1).device;
  return t;
}

int64_t inner_of(const std::vector<int64_t>& weight) {
  int64_t inner = 1;
  for (size_t d = 1; d < weight.size(); ++d) inner *= weight[d];
  return inner;
}

Result<Types> infer(const OpView& op) {
  for (const int k : {0, 1, 2})
    if (op.has(k) && op.in_type(k).dtype != DType::f32)
      return op.broken("L2", "{} is {}, expected f32", operand_name(op, k), op.in_type(k).text());
  if (op.bool_attr("transposed") || op.int_attr("groups") != 1)
    return op.broken("L2", "it is transposed or in groups");
  const Type &x = op.in_type(0), weight = weight_type(op);
  CLEAVE_TRY(Shape shape, convolution_shape(op, x, weight));
  const std::vector<int64_t> size = static_shape(weight);
  CLEAVE_CHECK(check_same_shape(op, "L1", "panels and those of the weight", op.in_type(1).shape,
                                {Dim(panels_of(size[0])), Dim(inner_of(size)), Dim(gemm_panel)}));
  if (op.has(2)) {
    CLEAVE_CHECK(check_same_shape(op, "C5", "bias and the channels of the result",
                                  op.in_type(2).shape, {shape[1]}));
    CLEAVE_CHECK(common_device(op, "C8", {0, 1, 2}));
  } else {
    CLEAVE_CHECK(common_device(op, "C8", {0, 1}));
  }
  return Types{typed_like(x, x.dtype, std::move(shape))};
}

Result<Arrays> reference(const OpView& op, std::span<const Array* const> in) {
  const Array &x = *in[0], &panels = *in[1];
  const std::vector<int64_t> weight = static_shape(weight_type(op));
  const int64_t inner = inner_of(weight);
  Array y(x.dtype, static_shape(op.out_type(0)));
  if (in[2] != nullptr) {
    const int64_t plane = y.numel() / std::max<int64_t>(y.shape[0] * y.shape[1], 1);
    for (int64_t k = 0; k < y.numel(); ++k) y.f[k] = in[2]->f[k / plane % y.shape[1]];
  }
  ReferenceSums sums = sums_from(y.f);
  for_each_convolution_term(op, x.shape, weight, y.shape, [&](int64_t i, int64_t j, int64_t k) {
    const int64_t s = j / inner, p = j % inner;
    sums[k] += x.f[i] * panels.f[(s / gemm_panel * inner + p) * gemm_panel + s % gemm_panel];
  });
  y.f = rounded(sums);
  return Arrays{y};
}

Values decompose(Builder& b, const OpView& op) {
  const std::vector<int64_t> size = static_shape(weight_type(op));
  const ValueId rows = b.call1("clone", {b.permute(op.in(1), {0, 2, 1})});
  const ValueId all = b.view(rows, {Dim(panels_of(size[0]) * gemm_panel), Dim(inner_of(size))});
  const ValueId matrix =
      b.call1("slice", {all}, {{"dim", 0}, {"start", 0}, {"end", size[0]}, {"step", 1}});
  const ValueId weight = b.view(matrix, op.dims_attr("weight_size"));
  NamedAttrs attrs;
  for (const char* name :
       {"stride", "padding", "dilation", "transposed", "output_padding", "groups"})
    attrs.emplace_back(name, op.attr(name));
  return b.call("convolution", {op.in(0), weight, op.has(2) ? op.in(2) : ValueId::none()},
                std::move(attrs));
}

Cost cost(const OpView& op) {
  return {2 * convolution_multiplies(op, op.in_type(0), weight_type(op), op.out_type(0)),
          bytes_moved(op)};
}

Sample sample_of(std::vector<int64_t> input, std::vector<int64_t> weight, bool has_bias,
                 SampleAttrs attrs) {
  const int64_t channels = weight[0];
  const SampleTensor panels = f32({panels_of(channels), inner_of(weight), gemm_panel});
  attrs.emplace_back("weight_size", weight);
  return {{f32(std::move(input)), panels,
           has_bias ? SampleOperand(f32({channels})) : SampleOperand(std::nullopt)},
          std::move(attrs)};
}

std::vector<Sample> samples() {
  const SampleAttrs plain = convolution_call({1}, {0}, {1});
  return {sample_of({1, 2, 4, 4}, {3, 2, 3, 3}, true, plain),
          sample_of({2, 3, 5}, {13, 3, 2}, false, convolution_call({2}, {1}, {1})),
          sample_of({1, 5, 6, 7}, {65, 5, 3, 3}, true, convolution_call({1}, {1}, {2})),
          sample_of({1, 2, 3, 4, 3}, {4, 2, 1, 2, 1}, false, plain),
          sample_of({3, 40, 2, 2}, {12, 40, 1, 1}, true, plain)};
}

Rejects rejects() {
  const SampleAttrs plain = convolution_call({1}, {0}, {1});
  Sample panels = sample_of({1, 2, 4, 4}, {33, 2, 3, 3}, false, plain);
  panels.operands[1] = f32({1, 18, 32});
  Sample dtype = sample_of({1, 2, 4, 4}, {3, 2, 3, 3}, false, plain);
  dtype.operands[0] = bf16({1, 2, 4, 4});
  return {{"L1", panels,
           "packed_convolution: L1: panels and those of the weight: [1,18,32] and [2,18,32], "
           "expected equal shapes"},
          {"L2", dtype, "packed_convolution: L2: input is bf16[1,2,4,4], expected f32"}};
}

}  // namespace

CLEAVE_OPS(packed_convolution) {
  return {OpDef{
      .name = "packed_convolution",
      .signature = "(Tensor input, Tensor panels, Tensor? bias, int[] weight_size, int[] stride, "
                   "int[] padding, int[] dilation, bool transposed, int[] output_padding, int "
                   "groups) -> Tensor",
      .summary = "A convolution whose weight is in panels of 32 channels.",
      .source = "cleave",
      .traits = Trait::compute_intensive | Trait::recomputable,
      .infer = infer,
      .reference = reference,
      .decompose = decompose,
      .grad = Absent{"weights are packed after the gradient"},
      .lower = loop::library(packed_convolution_form),
      .cost = cost,
      .samples = samples,
      .rejects = rejects,
  }};
}

}  // namespace cleave
