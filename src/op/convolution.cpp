// convolution(input, weight, bias; stride, padding, dilation, transposed, output_padding, groups)
//
//   plain        y = small side of input = large side, plus bias by channel
//                spatial dims: floor((size + 2 padding - dilation (kernel-1) - 1) / stride) + 1
//   transposed   y = large side of input = small side, plus bias by channel
//                spatial dims: (size-1) stride - 2 padding + dilation (kernel-1) + 1
//                + output_padding
//
//   input f[n, c, *size], 1 to 3 spatial dims; weight f[c_out, c/groups, *kernel], transposed
//   f[c, c_out/groups, *kernel]; bias f[c_out] or none
//   (C1..C8) convolution.h
// Source: aten::convolution, ATen/native/Convolution.cpp, PyTorch 2.13.
#include "op/convolution.h"
#include "op/broadcast.h"
#include "op/reference_sum.h"

namespace cleave {
namespace {

Result<Types> infer(const OpView& op) {
  CLEAVE_TRY(Shape shape, convolution_shape(op, 0, 1));
  const Type& x = op.in_type(0);
  if (op.has(2)) {
    const Type& bias = op.in_type(2);
    CLEAVE_CHECK(check_same_dtype(op, "C2", 2, 0));
    CLEAVE_CHECK(
        check_same_shape(op, "C5", "bias and the channels of the result", bias.shape, {shape[1]}));
    CLEAVE_CHECK(common_device(op, "C8", {0, 1, 2}));
  } else {
    CLEAVE_CHECK(common_device(op, "C8", {0, 1}));
  }
  return Types{typed_like(x, x.dtype, std::move(shape))};
}

Result<Arrays> reference(const OpView& op, std::span<const Array* const> in) {
  const Array &x = *in[0], &w = *in[1];
  Array y(x.dtype, static_shape(op.out_type(0)));
  if (in[2] != nullptr) {
    const int64_t plane = y.numel() / std::max<int64_t>(y.shape[0] * y.shape[1], 1);
    for (int64_t k = 0; k < y.numel(); ++k) y.f[k] = in[2]->f[k / plane % y.shape[1]];
  }
  ReferenceSums sums = sums_from(y.f);
  for_each_convolution_term(op, x.shape, w.shape, y.shape,
                            [&](int64_t i, int64_t j, int64_t k) { sums[k] += x.f[i] * w.f[j]; });
  y.f = rounded(sums);
  return Arrays{y};
}

Values decompose(Builder& b, const OpView& op) {
  const auto x = static_shape(op.in_type(0)), w = static_shape(op.in_type(1)),
             y = static_shape(op.out_type(0));
  const ConvolutionAttrs at = convolution_attrs(op, x.size() - 2);
  const ValueId bias = op.has(2) ? op.in(2) : ValueId::none();
  if (at.transposed)
    return {ConvolutionProducts(b, at, y, w, x).to_large(op.in(0), op.in(1), bias)};
  return {ConvolutionProducts(b, at, x, w, y).to_small(op.in(0), op.in(1), bias)};
}

Values grad(Builder& b, const GradView& op) {
  Values d = op.no_grads();
  if (op.dout(0).is_none()) return d;
  const std::vector<bool> mask = {op.needs(0), op.needs(1), op.has(2) && op.needs(2)};
  NamedAttrs attrs = {{"output_mask", mask}};
  if (mask[2]) attrs.emplace_back("bias_sizes", op.in_type(2).shape);
  for (const char* name : convolution_attr_names) attrs.emplace_back(name, op.attr(name));
  const Values got =
      b.call("convolution_backward", {op.dout(0), op.in(0), op.in(1)}, std::move(attrs));
  for (size_t k = 0; k < mask.size(); ++k)
    if (mask[k]) d[k] = got[k];
  return d;
}

Cost cost(const OpView& op) {
  return {2 * convolution_multiplies(op, op.in_type(0), op.in_type(1), op.out_type(0)),
          bytes_moved(op)};
}

std::vector<Sample> samples() {
  std::vector<Sample> out;
  bool with_bias = true;
  for (const ConvolutionSample& s : convolution_samples()) {
    const SampleOperand bias = sample(s.input.type.dtype, {s.output[1]});
    out.push_back({{s.input, s.weight, with_bias ? bias : SampleOperand(std::nullopt)}, s.attrs});
    with_bias = !with_bias;
  }
  const auto bias = f32({4});
  out.push_back({{f32({2, 4, 3}), f32({4, 2, 1}), bias}, convolution_call({1}, {0}, {1}, 2)});
  out.push_back({{f32({2, 2, 5}), f32({2, 4, 2}), bias}, transposed_call({2}, {1}, {1}, {0})});
  out.push_back(
      {{bf16({2, 2, 5}), bf16({2, 4, 2}), bf16({4})}, transposed_call({1}, {1}, {1}, {0})});
  return out;
}

const SampleTensor image = f32({1, 2, 4, 4}), filter = f32({3, 2, 3, 3});

Rejects convolution_rejects() {
  const SampleAttrs unit = convolution_call({1}, {0}, {1});
  return {{"C1",
           {{f32({2, 4}), filter}, unit},
           "convolution: C1: input is f32[2,4], expected rank 3, 4 or 5"},
          {"C1",
           {{f32({1, 2, 4}), filter}, unit},
           "convolution: C1: weight is f32[3,2,3,3], expected the rank of input: f32[1,2,4]"},
          {"C2",
           {{i64({1, 2, 4, 4}), filter}, unit},
           "convolution: C2: input is i64[1,2,4,4], expected a floating dtype"},
          {"C2",
           {{image, bf16({3, 2, 3, 3})}, unit},
           "convolution: C2: weight is bf16[3,2,3,3], expected the dtype of input: f32"},
          {"C2",
           {{image, filter, f64({3})}, unit},
           "convolution: C2: bias is f64[3], expected the dtype of input: f32"},
          {"C3",
           {{image, filter}, convolution_call({1, 1, 1}, {0}, {1})},
           "convolution: C3: stride has 3 entries, expected 2 or 1"},
          {"C3",
           {{image, filter}, convolution_call({0}, {0}, {1})},
           "convolution: C3: stride has 0, expected at least 1"},
          {"C3",
           {{image, filter}, convolution_call({1}, {-1}, {1})},
           "convolution: C3: padding has -1, expected at least 0"},
          {"C4",
           {{image, filter}, convolution_call({1}, {0}, {1}, 0)},
           "convolution: C4: groups is 0, expected at least 1"},
          {"C4",
           {{image, filter}, convolution_call({1}, {0}, {1}, 2)},
           "convolution: C4: dim 0 of weight and a multiple of groups: 3 and 2, expected equal"},
          {"C4",
           {{f32({1, 3, 4, 4}), filter}, unit},
           "convolution: C4: channels of input and dim 1 of weight, times groups: 3 and 2, "
           "expected equal"},
          {"C4",
           {{image, filter}, transposed_call({1}, {0}, {1}, {0})},
           "convolution: C4: channels of input and dim 0 of weight: 2 and 3, expected equal"},
          {"C5",
           {{image, filter, f32({2})}, unit},
           "convolution: C5: bias and the channels of the result: [2] and [3], expected equal "
           "shapes"},
          {"C6",
           {{image, filter}, convolution_call({1}, {0}, {2})},
           "convolution: C6: dim 2 of input padded is 4, expected at least 5, the kernel's"},
          {"C6",
           {{f32({1, 3, 1, 1}), filter}, transposed_call({1}, {2}, {1}, {0})},
           "convolution: C6: dim 2 of the result is -1, expected at least 1"},
          {"C7",
           {{f32({1, 3, 1, 1}), filter}, transposed_call({2}, {0}, {1}, {2})},
           "convolution: C7: output_padding 2 with stride 2 and dilation 1, expected less"},
          {"C8",
           {{image, on_cuda(filter)}, unit},
           "convolution: C8: input is f32[1,2,4,4] and weight is f32[3,2,3,3]@cuda:0, expected one "
           "device"}};
}

OpDef convolution() {
  return OpDef{
      .name = "convolution",
      .signature =
          "(Tensor input, Tensor weight, Tensor? bias, int[] stride, int[] padding, int[] "
          "dilation, "
          "bool transposed, int[] output_padding, int groups) -> Tensor",
      .summary = "A convolution over 1 to 3 spatial dims, or a transposed one, in groups.",
      .source = "aten::convolution, PyTorch 2.13",
      .traits = Trait::compute_intensive | Trait::recomputable,
      .infer = infer,
      .reference = reference,
      .decompose = decompose,
      .grad = grad,
      .lower = loop::library(convolution_form),
      .cost = cost,
      .samples = samples,
      .rejects = convolution_rejects,
  };
}

}  // namespace

CLEAVE_OPS(convolution) { return {convolution()}; }

}  // namespace cleave
