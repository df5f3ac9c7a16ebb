// avg_pool1d(self; kernel_size, stride, padding, ceil_mode, count_include_pad) -> y
//   y = sum of each window of the last dim / the elements of the window inside the input, with
//   count_include_pad inside the input and its padding
//   (C1..C5) pool.h, self is floating
// Implemented and differentiated as an avg_pool2d of one row, [*, n] as [*, 1, n].
// Source: ATen/native/Pool.h and Pooling.cpp (avg_pool1d), PyTorch 2.13.
#include "op/pool.h"
#include "op/reference_sum.h"

namespace cleave {
namespace {

using Ints = std::vector<int64_t>;

Result<Types> infer(const OpView& op) {
  const Type& x = op.in_type(0);
  CLEAVE_CHECK(check_floating(op, "C3", 0));
  CLEAVE_TRY(Shape shape, pooled_shape(op, 0, 1));
  return Types{typed_like(x, x.dtype, std::move(shape))};
}

Result<Arrays> reference(const OpView& op, std::span<const Array* const> in) {
  const Array& x = *in[0];
  const PoolEntries given(op, 1);
  const int64_t kernel = given.kernel[0], stride = given.stride[0], padding = given.padding[0];
  const int64_t n = x.shape.back();
  Array y(x.dtype, static_shape(op.out_type(0)));
  const int64_t windows = y.shape.back();
  for (int64_t k = 0; k < y.numel(); ++k) {
    const int64_t line = k / windows, from = k % windows * stride - padding;
    const int64_t padded_to = std::min(from + kernel, n + padding);
    const int64_t first = std::max<int64_t>(from, 0), last = std::min(padded_to, n);
    ReferenceSum sum;
    for (int64_t i = first; i < last; ++i) sum += x.f[line * n + i];
    const int64_t count = op.bool_attr("count_include_pad") ? padded_to - from : last - first;
    y.f[k] = sum / static_cast<double>(count);
  }
  return Arrays{y};
}

ValueId as_row(Builder& b, ValueId x) { return b.unsqueeze(x, -2); }
ValueId from_row(Builder& b, ValueId y) { return b.squeeze(y, {-2}); }

NamedAttrs row_attrs(const OpView& op) {
  const PoolWindows w = pool_windows(op, 1);
  return {{"kernel_size", Ints{1, w.kernel[0]}},
          {"stride", Ints{1, w.stride[0]}},
          {"padding", Ints{0, w.padding[0]}},
          {"ceil_mode", op.bool_attr("ceil_mode")},
          {"count_include_pad", op.bool_attr("count_include_pad")}};
}

Values decompose(Builder& b, const OpView& op) {
  return {from_row(b, b.call1("avg_pool2d", {as_row(b, op.in(0))}, row_attrs(op)))};
}

Values grad(Builder& b, const GradView& op) {
  const ValueId d = as_row(b, op.dout(0)), x = as_row(b, op.in(0));
  return {from_row(b, b.call1("avg_pool2d_backward", {d, x}, row_attrs(op)))};
}

std::vector<Sample> samples() {
  const auto call = [](SampleTensor x, Ints kernel, Ints stride = {}, Ints padding = {0},
                       bool ceil_mode = false, bool include_pad = true) {
    return Sample{{std::move(x)},
                  {{"kernel_size", kernel},
                   {"stride", stride},
                   {"padding", padding},
                   {"ceil_mode", ceil_mode},
                   {"count_include_pad", include_pad}}};
  };
  std::vector<Sample> out;
  for (DType t : floating_dtypes) {
    out.push_back(call(any_of(t, {2, 2, 5}), {3}, {2}, {1}, true, false));
    out.push_back(call(any_of(t, {1, 3, 8}), {2}));
    out.push_back(call(any_of(t, {2, 7}), {3}, {1}, {1}));
  }
  for (bool ceil_mode : {false, true})
    for (bool include_pad : {false, true}) {
      out.push_back(call(f32({1, 2, 7}), {3}, {3}, {1}, ceil_mode, include_pad));
      out.push_back(call(f32({1, 1, 9}), {5}, {2}, {2}, ceil_mode, include_pad));
    }
  const std::vector<Sample> more = {
      {{f32({1, 2, 6})}, {{"kernel_size", 3}}},
      call(f32({2, 1, 1}), {1}, {1}),
      call(f32({1, 1, 7}), {7}, {1}, {3}, false, false),
      call(f32({1, 1, 7}), {2}, {4}),
      call(f32({1, 2, 8}), {2}, {3}, {1}, true),
      call(f32({0, 3, 7}), {2}),
      call(f32({1, 40, 70}), {4}, {2}, {2}),
      call(f32({1, 1, 5}).with({1, NAN, 2, 3, INFINITY}), {2}, {1}),
      call(f32({1, 1, 4}).with({INFINITY, -INFINITY, 1, 2}), {2}, {1}, {1})};
  return joined({out, more});
}

std::vector<Reject> rejects() {
  const SampleTensor x = f32({1, 2, 4});
  return {{"C1",
           {{x}, {{"kernel_size", {2}}, {"stride", {1, 1}}}},
           "avg_pool1d: C1: stride has 2 entries, expected 1"},
          {"C2",
           {{x}, {{"kernel_size", {0}}}},
           "avg_pool1d: C2: kernel_size has 0, expected at least 1"},
          {"C2",
           {{x}, {{"kernel_size", {2}}, {"padding", {2}}}},
           "avg_pool1d: C2: padding has 2, expected at most 1, half of the window"},
          {"C3",
           {{i64({1, 2, 4})}, {{"kernel_size", {2}}}},
           "avg_pool1d: C3: self is i64[1,2,4], expected a floating dtype"},
          {"C4",
           {{f32({4})}, {{"kernel_size", {2}}}},
           "avg_pool1d: C4: self is f32[4], expected rank 2 or 3"},
          {"C4",
           {{f32({1, 0, 4})}, {{"kernel_size", {2}}}},
           "avg_pool1d: C4: dim 1 of self: f32[1,0,4] is empty, expected at least 1"},
          {"C5",
           {{x}, {{"kernel_size", {5}}}},
           "avg_pool1d: C5: a window of 5 with dilation 1 doesn't fit into 4 padded by 0"}};
}

}  // namespace

CLEAVE_OPS(avg_pool1d) {
  return {OpDef{
      .name = "avg_pool1d",
      .signature = "(Tensor self, int[1] kernel_size, int[1] stride=[], int[1] padding=0, bool "
                   "ceil_mode=False, bool count_include_pad=True) -> Tensor",
      .summary = "The mean of each window along the last dim.",
      .source = "aten::avg_pool1d, PyTorch 2.13",
      .traits = Trait::fusible | Trait::recomputable,
      .infer = infer,
      .reference = reference,
      .decompose = decompose,
      .grad = grad,
      .lower = loop::by_decomposition(),
      .cost =
          [](const OpView& op) {
            return Cost{pool_windows(op, 1).kernel[0] * numel_hint(op, op.out_type(0)),
                        bytes_moved(op)};
          },
      .samples = samples,
      .rejects = rejects,
  }};
}

}  // namespace cleave
