// convolution_channels_last(input, weight, bias; stride, padding, dilation, transposed,
//                           output_padding, groups) -> y
// convolution_channels_last_backward(grad_output, input, weight; stride, padding, dilation,
//                           transposed, output_padding, groups, output_mask) -> dinput, dweight
//
//   convolution.cpp and convolution_backward.cpp with the channels as the last dim of all tensors,
//   in the order in which a GPU's libraries read them; of a weight the second channels:
//
//     input f[n, *size, c]    weight f[c_out, *kernel, c/groups], transposed f[c, *kernel,
//     c_out/groups]    y and grad_output f[n, *size, c_out]    bias f[c_out] or none
//
//   (C1..C7) convolution.h, whose messages name the types with channels second
//   (C8) operands are on one device
//   (C9) grad_output has the type of the result
//   (C10) output_mask has 2 entries
//
// The pass channels_last makes these calls. A result that output_mask excludes has no type.
// Source: aten::convolution with tensors in MemoryFormat::ChannelsLast, PyTorch 2.13.
#include "op/broadcast.h"
#include "op/convolution.h"
#include "op/norm_graph.h"
#include "op/reference_lines.h"
#include "op/reference_sum.h"

namespace cleave {

namespace {

// Moves entry `from` to place `to`; those between move up.
template <class List>
List with_moved(List list, size_t from, size_t to) {
  auto entry = list[from];
  list.erase(list.begin() + static_cast<std::ptrdiff_t>(from));
  list.insert(list.begin() + static_cast<std::ptrdiff_t>(to), std::move(entry));
  return list;
}
template <class List>
List first(const List& list) {
  return list.size() < 3 ? list : with_moved(list, list.size() - 1, 1);
}
template <class List>
List last(const List& list) {
  return list.size() < 3 ? list : with_moved(list, 1, list.size() - 1);
}

}  // namespace

Shape channels_first(const Shape& shape) { return first(shape); }
Shape channels_last(const Shape& shape) { return last(shape); }
Type channels_first(const Type& t) {
  Type out(t.dtype, first(t.shape));
  out.device = t.device;
  return out;
}

namespace {

using Ints = std::vector<int64_t>;

constexpr int at_grad_output = 0;  // of a backward, whose other operands come one later

// ---- inference

Result<Types> infer(const OpView& op) {
  const Type &x = op.in_type(0), weight = channels_first(op.in_type(1));
  CLEAVE_TRY(const Shape shape, convolution_shape(op, channels_first(x), weight));
  if (op.has(2)) {
    CLEAVE_CHECK(check_same_dtype(op, "C2", 2, 0));
    CLEAVE_CHECK(check_same_shape(op, "C5", "bias and the channels of the result",
                                  op.in_type(2).shape, {shape[1]}));
    CLEAVE_CHECK(common_device(op, "C8", {0, 1, 2}));
  } else {
    CLEAVE_CHECK(common_device(op, "C8", {0, 1}));
  }
  return Types{typed_like(x, x.dtype, last(shape))};
}

Result<Types> infer_backward(const OpView& op) {
  const Type &g = op.in_type(at_grad_output), &x = op.in_type(1), &w = op.in_type(2);
  CLEAVE_TRY(const Shape shape, convolution_shape(op, channels_first(x), channels_first(w)));
  CLEAVE_CHECK(check_same_dtype(op, "C9", at_grad_output, 1));
  CLEAVE_CHECK(check_same_shape(op, "C9", "grad_output and the result of convolution", g.shape,
                                last(shape)));
  const std::vector<bool> mask = bools_attr(op, "output_mask");
  if (mask.size() != 2)
    return op.broken("C10", "output_mask has {} entries, expected 2", mask.size());
  CLEAVE_CHECK(common_device(op, "C8", {at_grad_output, 1, 2}));
  return Types{mask[0] ? typed_like(x, x.dtype, x.shape) : Type::none(),
               mask[1] ? typed_like(x, w.dtype, w.shape) : Type::none()};
}

// ---- reference: the plain loops, on tensors in the other order

Array reordered(const Array& x, const Ints& shape, const Ints& order) {
  return moved(x, shape, [&](const Ints& index) {
    Ints at(index.size());
    for (size_t d = 0; d < index.size(); ++d) at[static_cast<size_t>(order[d])] = index[d];
    return position_of(at, x.shape);
  });
}
Ints counted(size_t rank) {
  Ints out;
  for (size_t d = 0; d < rank; ++d) out.push_back(static_cast<int64_t>(d));
  return out;
}
Array first_array(const Array& x) {
  return reordered(x, first(x.shape), first(counted(x.shape.size())));
}
Array last_array(const Array& x) {
  return reordered(x, last(x.shape), last(counted(x.shape.size())));
}

Result<Arrays> reference(const OpView& op, std::span<const Array* const> in) {
  const Array x = first_array(*in[0]), w = first_array(*in[1]);
  Array y(x.dtype, first(static_shape(op.out_type(0))));
  if (in[2] != nullptr) {
    const int64_t plane = y.numel() / std::max<int64_t>(y.shape[0] * y.shape[1], 1);
    for (int64_t k = 0; k < y.numel(); ++k) y.f[k] = in[2]->f[k / plane % y.shape[1]];
  }
  ReferenceSums sums = sums_from(y.f);
  for_each_convolution_term(op, x.shape, w.shape, y.shape,
                            [&](int64_t i, int64_t j, int64_t k) { sums[k] += x.f[i] * w.f[j]; });
  y.f = rounded(sums);
  return Arrays{last_array(y)};
}

Result<Arrays> reference_backward(const OpView& op, std::span<const Array* const> in) {
  const Array g = first_array(*in[0]), x = first_array(*in[1]), w = first_array(*in[2]);
  Array dx(x.dtype, x.shape), dw(w.dtype, w.shape);
  ReferenceSums dx_sum(dx.f.size()), dw_sum(dw.f.size());
  for_each_convolution_term(op, x.shape, w.shape, g.shape, [&](int64_t i, int64_t j, int64_t k) {
    dx_sum[i] += w.f[j] * g.f[k];
    dw_sum[j] += x.f[i] * g.f[k];
  });
  dx.f = rounded(dx_sum);
  dw.f = rounded(dw_sum);
  return Arrays{last_array(dx), last_array(dw)};
}

// ---- the same by convolution

ValueId to_first(Builder& b, ValueId v) {
  return b.permute(v, first(counted(b.type(v).shape.size())));
}
ValueId to_last(Builder& b, ValueId v) {
  return b.permute(v, last(counted(b.type(v).shape.size())));
}

NamedAttrs shared_attrs(const OpView& op) {
  NamedAttrs attrs;
  for (const char* name : convolution_attr_names) attrs.emplace_back(name, op.attr(name));
  return attrs;
}

Values decompose(Builder& b, const OpView& op) {
  const ValueId bias = op.has(2) ? op.in(2) : ValueId::none();
  return {to_last(b, b.call1("convolution", {to_first(b, op.in(0)), to_first(b, op.in(1)), bias},
                             shared_attrs(op)))};
}

Values decompose_backward(Builder& b, const OpView& op) {
  std::vector<bool> mask = bools_attr(op, "output_mask");
  Values out(2);
  if (!mask[0] && !mask[1]) return out;
  NamedAttrs attrs = shared_attrs(op);
  attrs.emplace_back("output_mask", std::vector<bool>{mask[0], mask[1], false});
  const Values got =
      b.call("convolution_backward",
             {to_first(b, op.in(0)), to_first(b, op.in(1)), to_first(b, op.in(2))}, attrs);
  for (size_t k = 0; k < 2; ++k)
    if (mask[k] && b.status().ok()) out[k] = to_last(b, got[k]);
  return out;
}

// ---- cost and samples

Cost cost(const OpView& op) {
  return {2 * convolution_multiplies(op, op.in_type(0), op.in_type(1), op.out_type(0)),
          bytes_moved(op)};
}

Cost cost_backward(const OpView& op) {
  const std::vector<bool> mask = bools_attr(op, "output_mask");
  const int64_t one = 2 * convolution_multiplies(op, op.in_type(1), op.in_type(2), op.in_type(0));
  return {one * (int64_t{mask[0]} + int64_t{mask[1]}), bytes_moved(op)};
}

SampleTensor last_sample(const SampleTensor& t) {
  return any_of(t.type.dtype, last(static_shape(t.type)));
}

std::vector<Sample> samples() {
  std::vector<Sample> out;
  bool with_bias = true;
  for (const ConvolutionSample& s : convolution_samples()) {
    const SampleOperand bias = sample(s.input.type.dtype, {s.output[1]});
    out.push_back({{last_sample(s.input), last_sample(s.weight),
                    with_bias ? bias : SampleOperand(std::nullopt)},
                   s.attrs});
    with_bias = !with_bias;
  }
  return out;
}

SampleAttrs with_mask(SampleAttrs attrs, const std::vector<bool>& mask) {
  attrs.emplace_back("output_mask", mask);
  return attrs;
}

std::vector<Sample> backward_samples() {
  std::vector<Sample> out;
  for (const ConvolutionSample& s : convolution_samples())
    for (const std::vector<bool>& mask :
         {std::vector<bool>{true, false}, {false, true}, {true, true}})
      out.push_back({{any_of(s.input.type.dtype, last(s.output)), last_sample(s.input),
                      last_sample(s.weight)},
                     with_mask(s.attrs, mask)});
  return out;
}

const SampleTensor image = f32({1, 4, 4, 2}), filter = f32({3, 3, 3, 2}),
                   cotangent = f32({1, 2, 2, 3});

Rejects rejects() {
  const std::string name = "convolution_channels_last: ";
  const SampleAttrs unit = convolution_call({1}, {0}, {1});
  return {
      {"C1",
       {{f32({2, 4}), filter}, unit},
       name + "C1: input is f32[2,4], expected rank 3, 4 or 5"},
      {"C2",
       {{image, filter, f64({3})}, unit},
       name + "C2: bias is f64[3], expected the dtype of input: f32"},
      {"C4",
       {{f32({1, 4, 4, 3}), filter}, unit},
       name + "C4: channels of input and dim 1 of weight, times groups: 3 and 2, expected "
              "equal"},
      {"C5",
       {{image, filter, f32({2})}, unit},
       name + "C5: bias and the channels of the result: [2] and [3], expected equal shapes"},
      {"C8",
       {{image, on_cuda(filter)}, unit},
       name + "C8: input is f32[1,4,4,2] and weight is f32[3,3,3,2]@cuda:0, expected one device"}};
}

Rejects backward_rejects() {
  const std::string name = "convolution_channels_last_backward: ";
  const SampleAttrs unit = with_mask(convolution_call({1}, {0}, {1}), {true, true});
  return {{"C9",
           {{bf16({1, 2, 2, 3}), image, filter}, unit},
           name + "C9: grad_output is bf16[1,2,2,3], expected the dtype of input: f32"},
          {"C9",
           {{f32({1, 2, 3, 3}), image, filter}, unit},
           name + "C9: grad_output and the result of convolution: [1,2,3,3] and [1,2,2,3], "
                  "expected equal shapes"},
          {"C10",
           {{cotangent, image, filter}, with_mask(convolution_call({1}, {0}, {1}), {true})},
           name + "C10: output_mask has 1 entries, expected 2"}};
}

constexpr Trait traits = Trait::compute_intensive | Trait::recomputable;

OpDef forward() {
  return OpDef{
      .name = "convolution_channels_last",
      .signature =
          "(Tensor input, Tensor weight, Tensor? bias, int[] stride, int[] padding, int[] "
          "dilation, bool transposed, int[] output_padding, int groups) -> Tensor",
      .summary = "A convolution of tensors whose last dim are channels.",
      .source = "aten::convolution, PyTorch 2.13",
      .traits = traits,
      .infer = infer,
      .reference = reference,
      .decompose = decompose,
      .grad = Absent{"calls are made after the gradient"},
      .lower = loop::library(convolution_channels_last_form),
      .cost = cost,
      .samples = samples,
      .rejects = rejects,
  };
}

OpDef backward() {
  return OpDef{
      .name = "convolution_channels_last_backward",
      .signature =
          "(Tensor grad_output, Tensor input, Tensor weight, int[] stride, int[] padding, int[] "
          "dilation, bool transposed, int[] output_padding, int groups, bool[2] output_mask) -> "
          "(Tensor, Tensor)",
      .summary = "The gradients by input and weight of a convolution whose last dim are channels.",
      .source = "aten::convolution_backward, PyTorch 2.13",
      .traits = traits,
      .infer = infer_backward,
      .reference = reference_backward,
      .decompose = decompose_backward,
      .grad = Absent{"calls are made after the gradient"},
      .lower = loop::library(convolution_channels_last_backward_form),
      .cost = cost_backward,
      .samples = backward_samples,
      .rejects = backward_rejects,
  };
}

}  // namespace

CLEAVE_OPS(convolution_channels_last) { return {forward(), backward()}; }

}  // namespace cleave
