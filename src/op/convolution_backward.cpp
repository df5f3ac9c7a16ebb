// convolution_backward(grad_output, input, weight; bias_sizes, stride, padding, dilation,
//                      transposed, output_padding, groups, output_mask) -> dinput, dweight, dbias
//
//   The gradients of convolution (convolution.cpp). A convolution is linear in input and in weight,
//   so dinput is the transposed convolution of grad_output by the same weight, and dweight sums
//   input * grad_output over the batch and the windows. dbias sums over all dims but channels.
//
//   (C1..C8) convolution.h, without a bias
//   (C9) grad_output has the type of convolution's result
//   (C10) output_mask has 3 entries; bias_sizes, if given and dbias is requested, is the number
//         of channels (PyTorch writes [0] if there is no bias)
// A result that output_mask excludes has no type.
// Source: aten::convolution_backward, ATen/native/Convolution.cpp, PyTorch 2.13.
#include "op/broadcast.h"
#include "op/convolution.h"
#include "op/reference_sum.h"
#include "op/wide_grad.h"

namespace cleave {
namespace {

enum Operand { at_grad_output, at_input, at_weight };
constexpr const char* shared_attrs[] = {"stride",     "padding",        "dilation",
                                        "transposed", "output_padding", "groups"};

std::vector<bool> output_mask(const OpView& op) {
  std::vector<bool> mask;
  if (const AttrList* list = op.attr("output_mask").get<AttrList>())
    for (const AttrValue& v : *list) mask.push_back(v.get<bool>() && *v.get<bool>());
  return mask;
}

Result<Types> infer(const OpView& op) {
  CLEAVE_TRY(const Shape shape, convolution_shape(op, at_input, at_weight));
  const Type &g = op.in_type(at_grad_output), &x = op.in_type(at_input), &w = op.in_type(at_weight);
  CLEAVE_CHECK(check_same_dtype(op, "C9", at_grad_output, at_input));
  CLEAVE_CHECK(
      check_same_shape(op, "C9", "grad_output and the result of convolution", g.shape, shape));
  const std::vector<bool> mask = output_mask(op);
  if (mask.size() != 3)
    return op.broken("C10", "output_mask has {} entries, expected 3", mask.size());
  if (op.given("bias_sizes") && mask[2])
    CLEAVE_CHECK(check_same_shape(op, "C10", "bias_sizes and the channels of grad_output",
                                  op.dims_attr("bias_sizes"), {shape[1]}));
  CLEAVE_CHECK(common_device(op, "C8", {at_grad_output, at_input, at_weight}));
  Types out = {typed_like(x, x.dtype, x.shape), typed_like(x, w.dtype, w.shape),
               typed_like(x, x.dtype, {shape[1]})};
  for (size_t k = 0; k < 3; ++k)
    if (!mask[k]) out[k] = Type::none();
  return out;
}

Result<Arrays> reference(const OpView& op, std::span<const Array* const> in) {
  const Array &g = *in[at_grad_output], &x = *in[at_input], &w = *in[at_weight];
  Array dx(x.dtype, x.shape), dw(w.dtype, w.shape), db(x.dtype, {g.shape[1]});
  ReferenceSums dx_sum(dx.f.size()), dw_sum(dw.f.size()), db_sum(db.f.size());
  for_each_convolution_term(op, x.shape, w.shape, g.shape, [&](int64_t i, int64_t j, int64_t k) {
    dx_sum[i] += w.f[j] * g.f[k];
    dw_sum[j] += x.f[i] * g.f[k];
  });
  const int64_t plane = g.numel() / std::max<int64_t>(g.shape[0] * g.shape[1], 1);
  for (int64_t k = 0; k < g.numel(); ++k) db_sum[k / plane % g.shape[1]] += g.f[k];
  dx.f = rounded(dx_sum);
  dw.f = rounded(dw_sum);
  db.f = rounded(db_sum);
  return Arrays{dx, dw, db};
}

// The call restricted to one of the results, which the runtime may cover.
ValueId alone(Builder& b, const OpView& op, size_t result) {
  std::vector<bool> mask(3, false);
  mask[result] = true;
  NamedAttrs attrs = {{"output_mask", mask}};
  for (const char* name : shared_attrs) attrs.emplace_back(name, op.attr(name));
  return b.call("convolution_backward", {op.in(at_grad_output), op.in(at_input), op.in(at_weight)},
                std::move(attrs))[result];
}

Values decompose(Builder& b, const OpView& op) {
  const std::vector<bool> mask = output_mask(op);
  const bool is_one = mask[0] + mask[1] + mask[2] == 1;
  const auto g = static_shape(op.in_type(at_grad_output)), x = static_shape(op.in_type(at_input)),
             w = static_shape(op.in_type(at_weight));
  const ConvolutionAttrs at = convolution_attrs(op, x.size() - 2);
  ConvolutionProducts products(b, at, at.transposed ? g : x, w, at.transposed ? x : g);
  const ValueId dy = op.in(at_grad_output), in = op.in(at_input), weight = op.in(at_weight);
  const ValueId none = ValueId::none();
  Values out(3);
  if (mask[0] && !is_one)
    out[0] = alone(b, op, 0);
  else if (mask[0])
    out[0] =
        at.transposed ? products.to_small(dy, weight, none) : products.to_large(dy, weight, none);
  if (mask[1] && !is_one)
    out[1] = alone(b, op, 1);
  else if (mask[1])
    out[1] = at.transposed ? products.to_weight(dy, in) : products.to_weight(in, dy);
  if (mask[2]) {
    std::vector<int64_t> dims = {0};
    for (int64_t d = 2; d < std::ssize(g); ++d) dims.push_back(d);
    out[2] = b.sum(dy, dims);
  }
  return out;
}

// With cotangents u of dinput, v of dweight and t of dbias, the result is
//   <u, conv'(dy; w)> + <v, dy * input> + <t, sum dy> = <dy, conv(u; w) + conv(input; v) + t>
// so the gradient of grad_output is the bracket, that of input is the dinput of (dy, v), and that
// of weight is the dweight of (dy, u).
Values grad(Builder& b, const GradView& op) {
  Values d = op.no_grads();
  NamedAttrs attrs;
  for (const char* name : shared_attrs) attrs.emplace_back(name, op.attr(name));
  const auto forward = [&](ValueId x, ValueId w) { return b.call1("convolution", {x, w}, attrs); };
  const auto backward = [&](ValueId x, ValueId w, size_t result) {
    std::vector<bool> mask(3, false);
    mask[result] = true;
    NamedAttrs with_mask = attrs;
    with_mask.emplace_back("output_mask", mask);
    return b.call("convolution_backward", {op.in(at_grad_output), x, w}, with_mask)[result];
  };
  const auto add_to = [&](int operand, ValueId v) {
    d[operand] = d[operand].valid() ? b.add(d[operand], v) : v;
  };
  const ValueId x = op.in(at_input), w = op.in(at_weight);
  if (const ValueId u = op.dout(0); u.valid()) {
    if (op.needs(at_grad_output)) add_to(at_grad_output, forward(u, w));
    if (op.needs(at_weight)) add_to(at_weight, backward(u, w, 1));
  }
  if (const ValueId v = op.dout(1); v.valid()) {
    if (op.needs(at_grad_output)) add_to(at_grad_output, forward(x, v));
    if (op.needs(at_input)) add_to(at_input, backward(x, v, 0));
  }
  if (const ValueId t = op.dout(2); t.valid() && op.needs(at_grad_output)) {
    const Shape& g = op.in_type(at_grad_output).shape;
    Shape by_channel(g.size(), 1);
    by_channel[1] = g[1];
    add_to(at_grad_output, b.expand(b.view(t, by_channel), g));
  }
  return d;
}

Cost cost(const OpView& op) {
  const std::vector<bool> mask = output_mask(op);
  const int64_t one = 2 * convolution_multiplies(op, op.in_type(at_input), op.in_type(at_weight),
                                                 op.in_type(at_grad_output));
  const int64_t sum = mask[2] ? numel_hint(op, op.in_type(at_grad_output)) : 0;
  return {one * (int64_t{mask[0]} + int64_t{mask[1]}) + sum, bytes_moved(op)};
}

SampleAttrs with_mask(SampleAttrs attrs, const std::vector<bool>& mask) {
  attrs.emplace_back("output_mask", mask);
  return attrs;
}

std::vector<Sample> samples() {
  std::vector<Sample> out;
  for (const ConvolutionSample& s : convolution_samples()) {
    SampleAttrs attrs = with_mask(s.attrs, {true, true, true});
    attrs.emplace_back("bias_sizes", std::vector<int64_t>{s.output[1]});
    out.push_back({{sample(s.input.type.dtype, s.output), s.input, s.weight}, attrs});
  }
  const SampleAttrs unit = convolution_call({1}, {0}, {1});
  for (const std::vector<bool>& mask : {std::vector<bool>{true, false, false},
                                        {false, true, false},
                                        {false, false, true},
                                        {false, true, true}})
    out.push_back({{f32({1, 1, 2}), f32({1, 1, 3}), f32({1, 1, 2})}, with_mask(unit, mask)});
  SampleAttrs unbiased = with_mask(unit, {true, true, false});
  unbiased.emplace_back("bias_sizes", std::vector<int64_t>{0});
  out.push_back({{f32({1, 2, 2}), f32({1, 1, 3}), f32({2, 1, 2})}, unbiased});
  return out;
}

const SampleTensor cotangent = f32({1, 3, 2, 2}), image = f32({1, 2, 4, 4}),
                   filter = f32({3, 2, 3, 3});

OpDef convolution_backward() {
  return OpDef{
      .name = "convolution_backward",
      .signature =
          "(Tensor grad_output, Tensor input, Tensor weight, SymInt[]? bias_sizes, int[] stride, "
          "int[] padding, int[] dilation, bool transposed, int[] output_padding, int groups, "
          "bool[3] output_mask) -> (Tensor, Tensor, Tensor)",
      .summary = "The gradients of a convolution by input, weight and bias.",
      .source = "aten::convolution_backward, PyTorch 2.13",
      .traits = Trait::compute_intensive | Trait::recomputable,
      .infer = infer,
      .reference = reference,
      .decompose = decompose,
      .grad = wide_grad(grad),
      .lower = loop::library(convolution_backward_form),
      .cost = cost,
      .samples = samples,
      .rejects = []() -> Rejects {
        const std::vector<bool> every = {true, true, true};
        const SampleAttrs unit = with_mask(convolution_call({1}, {0}, {1}), every);
        SampleAttrs biased = unit;
        biased.emplace_back("bias_sizes", std::vector<int64_t>{2});
        return {
            {"C1",
             {{cotangent, f32({2, 4}), filter}, unit},
             "convolution_backward: C1: input is f32[2,4], expected rank 3, 4 or 5"},
            {"C2",
             {{cotangent, image, f64({3, 2, 3, 3})}, unit},
             "convolution_backward: C2: weight is f64[3,2,3,3], expected the dtype of input: f32"},
            {"C9",
             {{bf16({1, 3, 2, 2}), image, filter}, unit},
             "convolution_backward: C9: grad_output is bf16[1,3,2,2], expected the dtype of input: "
             "f32"},
            {"C9",
             {{f32({1, 3, 2, 3}), image, filter}, unit},
             "convolution_backward: C9: grad_output and the result of convolution: [1,3,2,3] and "
             "[1,3,2,2], expected equal shapes"},
            {"C10",
             {{cotangent, image, filter}, with_mask(convolution_call({1}, {0}, {1}), {true})},
             "convolution_backward: C10: output_mask has 1 entries, expected 3"},
            {"C10",
             {{cotangent, image, filter}, biased},
             "convolution_backward: C10: bias_sizes and the channels of grad_output: [2] and [3], "
             "expected equal shapes"},
            {"C8",
             {{cotangent, on_cuda(image), filter}, unit},
             "convolution_backward: C8: grad_output is f32[1,3,2,2] and input is "
             "f32[1,2,4,4]@cuda:0, expected one device"}};
      },
  };
}

}  // namespace

CLEAVE_OPS(convolution_backward) { return {convolution_backward()}; }

}  // namespace cleave
