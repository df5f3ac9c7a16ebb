// convolution_pointwise(input, weight, bias, other; stride, padding, dilation, transposed,
//                       output_padding, groups, packed_size, relu) -> y
//
//   y = convolution(input, weight, bias) + other, then max(y, 0) if relu
//
//   packed_size []         weight as it lies
//   packed_size [s,l,k..]  weight is in panels[s / 32, p, s % 32], p the row-major index of
//                          (l, k..)
//
//   (P1) f32, not transposed
//   (P2) other has the type of the result
//   (P3) packed: groups is 1, packed_size is that of a tensor, and weight is f32[a,p,32], with a
//        and p those of packed_size, a rounded up; numbers for no s don't matter
//   (C1..C8) convolution.h, with a weight of packed_size if it is packed
//
// Bitwise equal to the calls that it stands for, with one pass over y. fuse_convolution_pointwise
// creates it; pack_weights does in frozen programs, in the order in which the product reads the
// weight. Source: mkldnn::_convolution_pointwise, ATen/native/mkldnn/Conv.cpp, PyTorch 2.13.
#include "op/broadcast.h"
#include "op/convolution.h"
#include "op/reference_sum.h"

namespace cleave {
namespace {

int64_t panels_of(int64_t channels) {  // of any number
  return channels / gemm_panel + (channels % gemm_panel > 0 ? 1 : 0);
}

bool is_packed(const OpView& op) { return !op.dims_attr("packed_size").empty(); }

// Of the weight, as it lies when it isn't packed.
Type weight_type(const OpView& op) {
  if (!is_packed(op)) return op.in_type(1);
  Type t(DType::f32, op.dims_attr("packed_size"));
  t.device = op.in_type(1).device;
  return t;
}

// Numbers of the weight for one channel of the result.
int64_t inner_of(const std::vector<int64_t>& weight) {
  int64_t inner = 1;
  for (size_t d = 1; d < weight.size(); ++d) inner *= weight[d];
  return inner;
}

Result<Types> infer(const OpView& op) {
  for (const int k : {0, 1, 2, 3})
    if (op.has(k) && op.in_type(k).dtype != DType::f32)
      return op.broken("P1", "{} is {}, expected f32", operand_name(op, k), op.in_type(k).text());
  if (op.bool_attr("transposed")) return op.broken("P1", "it is transposed");
  const Type& x = op.in_type(0);
  CLEAVE_TRY(Shape shape, convolution_shape(op, x, weight_type(op)));
  if (is_packed(op)) {
    if (op.int_attr("groups") != 1)
      return op.broken("P3", "groups is {}, expected 1", op.int_attr("groups"));
    if (const Status s = check_type_limits(weight_type(op)); !s.ok())
      return op.broken("P3", "packed_size: {}", s.failure().message);
    const std::vector<int64_t> size = static_shape(weight_type(op));
    CLEAVE_CHECK(check_same_shape(op, "P3", "panels and those of the weight", op.in_type(1).shape,
                                  {Dim(panels_of(size[0])), Dim(inner_of(size)), Dim(gemm_panel)}));
  }
  CLEAVE_CHECK(common_device(op, "C8", {0, 1}));
  if (op.has(2)) {
    CLEAVE_CHECK(check_same_shape(op, "C5", "bias and the channels of the result",
                                  op.in_type(2).shape, {shape[1]}));
    CLEAVE_CHECK(common_device(op, "C8", {0, 2}));
  }
  if (op.has(3)) {
    CLEAVE_CHECK(check_same_shape(op, "P2", "other and the result", op.in_type(3).shape, shape));
    CLEAVE_CHECK(common_device(op, "C8", {0, 3}));
  }
  return Types{typed_like(x, x.dtype, std::move(shape))};
}

Result<Arrays> reference(const OpView& op, std::span<const Array* const> in) {
  const Array &x = *in[0], &w = *in[1];
  const std::vector<int64_t> weight = static_shape(weight_type(op));
  const int64_t inner = inner_of(weight);
  Array y(x.dtype, static_shape(op.out_type(0)));
  if (in[2] != nullptr) {
    const int64_t plane = y.numel() / std::max<int64_t>(y.shape[0] * y.shape[1], 1);
    for (int64_t k = 0; k < y.numel(); ++k) y.f[k] = in[2]->f[k / plane % y.shape[1]];
  }
  ReferenceSums sums = sums_from(y.f);
  const bool packed = is_packed(op);
  for_each_convolution_term(op, x.shape, weight, y.shape, [&](int64_t i, int64_t j, int64_t k) {
    const int64_t s = j / inner, p = j % inner;
    sums[k] +=
        x.f[i] * w.f[packed ? (s / gemm_panel * inner + p) * gemm_panel + s % gemm_panel : j];
  });
  y.f = rounded(sums);
  for (int64_t k = 0; k < y.numel(); ++k) {
    if (in[3] != nullptr) y.f[k] += in[3]->f[k];
    if (op.bool_attr("relu") && y.f[k] < 0) y.f[k] = 0;
  }
  return Arrays{y};
}

ValueId unpacked_weight(Builder& b, const OpView& op) {
  const std::vector<int64_t> size = static_shape(weight_type(op));
  const ValueId rows = b.call1("clone", {b.permute(op.in(1), {0, 2, 1})});
  const ValueId all = b.view(rows, {Dim(panels_of(size[0]) * gemm_panel), Dim(inner_of(size))});
  const ValueId matrix =
      b.call1("slice", {all}, {{"dim", 0}, {"start", 0}, {"end", size[0]}, {"step", 1}});
  return b.view(matrix, op.dims_attr("packed_size"));
}

Values decompose(Builder& b, const OpView& op) {
  NamedAttrs attrs;
  for (const char* name : convolution_attr_names) attrs.emplace_back(name, op.attr(name));
  const ValueId weight = is_packed(op) ? unpacked_weight(b, op) : op.in(1);
  ValueId y = b.call1("convolution", {op.in(0), weight, op.has(2) ? op.in(2) : ValueId::none()},
                      std::move(attrs));
  if (op.has(3)) y = b.add(y, op.in(3));
  return {op.bool_attr("relu") ? b.call1("relu", {y}) : y};
}

Cost cost(const OpView& op) {
  return {2 * convolution_multiplies(op, op.in_type(0), weight_type(op), op.out_type(0)),
          bytes_moved(op)};
}

constexpr bool has_relu = true, has_bias = true;

Sample sample_of(std::vector<int64_t> input, SampleTensor weight, int64_t channels, bool bias,
                 std::optional<SampleTensor> other, SampleAttrs attrs) {
  const auto optional = [](bool given, SampleTensor t) {
    return given ? SampleOperand(std::move(t)) : SampleOperand(std::nullopt);
  };
  return {{f32(std::move(input)), std::move(weight), optional(bias, f32({channels})),
           other ? SampleOperand(*other) : SampleOperand(std::nullopt)},
          std::move(attrs)};
}

Sample plain_sample(std::vector<int64_t> input, const std::vector<int64_t>& weight, bool bias,
                    std::optional<std::vector<int64_t>> other, bool relu, SampleAttrs attrs) {
  attrs.emplace_back("packed_size", std::vector<int64_t>{});
  attrs.emplace_back("relu", relu);
  return sample_of(std::move(input), f32(weight), weight[0], bias,
                   other ? std::optional(f32(*other)) : std::nullopt, std::move(attrs));
}

Sample packed_sample(std::vector<int64_t> input, const std::vector<int64_t>& weight, bool bias,
                     std::optional<std::vector<int64_t>> other, bool relu, SampleAttrs attrs) {
  attrs.emplace_back("packed_size", weight);
  attrs.emplace_back("relu", relu);
  return sample_of(std::move(input), f32({panels_of(weight[0]), inner_of(weight), gemm_panel}),
                   weight[0], bias, other ? std::optional(f32(*other)) : std::nullopt,
                   std::move(attrs));
}

using Ints = std::vector<int64_t>;

std::vector<Sample> samples() {
  const SampleAttrs plain = convolution_call({1}, {0}, {1});
  const std::optional<Ints> none;
  return {
      packed_sample({1, 2, 4, 4}, {3, 2, 3, 3}, has_bias, none, !has_relu, plain),
      packed_sample({2, 3, 5}, {13, 3, 2}, !has_bias, Ints{2, 13, 3}, has_relu,
                    convolution_call({2}, {1}, {1})),
      packed_sample({1, 5, 6, 7}, {65, 5, 3, 3}, has_bias, none, has_relu,
                    convolution_call({1}, {1}, {2})),
      packed_sample({1, 2, 3, 4, 3}, {4, 2, 1, 2, 1}, !has_bias, none, !has_relu, plain),
      packed_sample({3, 40, 2, 2}, {12, 40, 1, 1}, has_bias, Ints{3, 12, 2, 2}, !has_relu, plain),
      plain_sample({1, 2, 4, 4}, {3, 2, 3, 3}, has_bias, none, has_relu, plain),
      plain_sample({3, 4, 9, 9}, {6, 2, 3, 3}, !has_bias, Ints{3, 6, 5, 5}, has_relu,
                   convolution_call({2}, {1}, {1}, 2)),
      plain_sample({1, 3, 20, 20}, {33, 3, 1, 1}, has_bias, Ints{1, 33, 20, 20}, !has_relu, plain),
      plain_sample({2, 2, 7}, {5, 2, 3}, !has_bias, none, has_relu, plain)};
}

Rejects rejects() {
  const SampleAttrs plain = convolution_call({1}, {0}, {1});
  const std::optional<Ints> none;
  Sample panels = packed_sample({1, 2, 4, 4}, {33, 2, 3, 3}, !has_bias, none, !has_relu, plain);
  panels.operands[1] = f32({1, 18, 32});
  Sample dtype = packed_sample({1, 2, 4, 4}, {3, 2, 3, 3}, !has_bias, none, !has_relu, plain);
  dtype.operands[0] = bf16({1, 2, 4, 4});
  return {
      {"P1", dtype, "convolution_pointwise: P1: input is bf16[1,2,4,4], expected f32"},
      {"P1",
       plain_sample({1, 3, 4, 4}, {3, 2, 3, 3}, !has_bias, none, has_relu,
                    transposed_call({1}, {0}, {1}, {0})),
       "convolution_pointwise: P1: it is transposed"},
      {"P2", plain_sample({1, 2, 4, 4}, {3, 2, 3, 3}, !has_bias, Ints{1, 3, 2, 1}, has_relu, plain),
       "convolution_pointwise: P2: other and the result: [1,3,2,1] and [1,3,2,2], expected "
       "equal shapes"},
      {"P3",
       packed_sample({1, 4, 4, 4}, {4, 2, 3, 3}, !has_bias, none, !has_relu,
                     convolution_call({1}, {0}, {1}, 2)),
       "convolution_pointwise: P3: groups is 2, expected 1"},
      {"P3", panels,
       "convolution_pointwise: P3: panels and those of the weight: [1,18,32] and [2,18,32], "
       "expected equal shapes"}};
}

}  // namespace

CLEAVE_OPS(convolution_pointwise) {
  return {OpDef{
      .name = "convolution_pointwise",
      .signature = "(Tensor input, Tensor weight, Tensor? bias, Tensor? other, int[] stride, int[] "
                   "padding, int[] dilation, bool transposed, int[] output_padding, int groups, "
                   "int[] packed_size, bool relu) -> Tensor",
      .summary =
          "A convolution, a sum and max(y, 0) in one pass; the weight may be in panels of 32 "
          "channels.",
      .source = "mkldnn::_convolution_pointwise",
      .traits = Trait::compute_intensive | Trait::recomputable,
      .infer = infer,
      .reference = reference,
      .decompose = decompose,
      .grad = Absent{"calls are fused after the gradient"},
      .lower = loop::library(convolution_pointwise_form),
      .cost = cost,
      .samples = samples,
      .rejects = rejects,
  }};
}

}  // namespace cleave
