// as_strided(self; size, stride, storage_offset) -> y
//
//   y[i_0, ...] = x.flat[storage_offset + sum_d i_d * stride[d]]   x.flat: x in row-major order
//
//   (C1) as many strides as sizes
//   (C2) sizes, strides and the offset are not negative
//   (C3) every element is in bounds of self (an empty y has no elements)
// The gradient adds each cotangent at the position that was read; an element read twice gets both.
#include "op/cost.h"
#include "op/dims.h"
#include "op/entry.h"
#include "op/reference_lines.h"
#include "op/sample_sets.h"

namespace cleave {
namespace {

using loop::Layout;

Result<Types> infer_as_strided(const OpView& op) {
  const Type& x = op.in_type(0);
  const Shape size = op.dims_attr("size"), stride = op.dims_attr("stride");
  const SymEnv& env = op.env();
  if (size.size() != stride.size())
    return op.broken("C1", "{} strides for {} sizes, expected as many", stride.size(), size.size());
  Dim last = op.dim_attr("storage_offset");
  bool negative = env.range_of(last).lo < 0, empty = false;
  for (size_t d = 0; d < size.size(); ++d) {
    negative = negative || env.range_of(size[d]).lo < 0 || env.range_of(stride[d]).lo < 0;
    empty = empty || env.provably_equal(size[d], 0);
    last = last + (size[d] - Dim(1)) * stride[d];
  }
  if (negative)
    return op.broken("C2", "size={}, stride={}, storage_offset={}: expected none below 0",
                     shape_text(size), shape_text(stride), op.dim_attr("storage_offset").text());
  if (!empty && env.range_of(last).lo >= env.range_of(x.numel()).hi)
    return op.broken("C3", "the last element lies at {}, expected it within the {} of self: {}",
                     last.text(), x.numel().text(), x.text());
  return Types{typed_like(x, x.dtype, size)};
}

Result<Arrays> reference_as_strided(const OpView& op, std::span<const Array* const> in) {
  const std::vector<int64_t> stride = op.ints_attr("stride");
  const int64_t offset = op.int_attr("storage_offset");
  return Arrays{moved(*in[0], op.ints_attr("size"), [&](const std::vector<int64_t>& index) {
    int64_t at = offset;
    for (size_t d = 0; d < index.size(); ++d) at += index[d] * stride[d];
    return at;
  })};
}

// 0, 1, ..., n-1.
ValueId counted(Builder& b, const Dim& n) {
  const ValueId ones = b.full({n}, 1, DType::i64);
  return b.sub(b.call1("cumsum", {ones}, {{"dim", 0}}), 1);
}

Values grad_as_strided(Builder& b, const GradView& op) {
  const Type& x = op.in_type(0);
  const Shape size = op.dims_attr("size"), stride = op.dims_attr("stride");
  const Dim offset = op.dim_attr("storage_offset");
  const Dim count = op.out_type(0).numel();
  ValueId place = b.full(size, AttrValue(int64_t{0}), DType::i64);
  for (size_t d = 0; d < size.size(); ++d) {
    Shape along(size.size(), Dim(1));
    along[d] = size[d];
    const ValueId step = b.full({Dim(1)}, AttrValue(stride[d]), DType::i64);
    place = b.add(place, b.view(b.mul(counted(b, size[d]), step), along));
  }
  place = b.add(b.view(place, {count}), b.full({Dim(1)}, AttrValue(offset), DType::i64));
  const ValueId flat = b.full({x.numel()}, 0, x.dtype);
  const ValueId sum =
      b.call1("scatter_add", {flat, place, b.view(op.dout(0), {count})}, {{"dim", 0}});
  return {b.view(sum, x.shape)};
}

// A view if self is row-major without gaps.
std::optional<Layout> layout_as_strided(const OpView& op, const Layout& in, int) {
  Layout flat = in;
  flat.offset = 0;
  if (!flat.is_contiguous()) return std::nullopt;
  return Layout{op.ints_attr("size"), op.ints_attr("stride"),
                in.offset + op.int_attr("storage_offset")};
}

OpDef as_strided() {
  const auto call = [](SampleTensor x, std::vector<int64_t> size, std::vector<int64_t> stride,
                       int64_t offset) {
    return Sample{{std::move(x)}, {{"size", size}, {"stride", stride}, {"storage_offset", offset}}};
  };
  return OpDef{
      .name = "as_strided",
      .signature =
          "(Tensor self, SymInt[] size, SymInt[] stride, SymInt? storage_offset=None) "
          "-> Tensor",
      .summary = "Elements of self's row-major form at an offset and strides.",
      .source = "aten::as_strided, PyTorch 2.13",
      .traits = Trait::view | Trait::fusible | Trait::recomputable,
      .infer = infer_as_strided,
      .reference = reference_as_strided,
      .decompose = Absent{"a primitive view"},
      .grad = grad_as_strided,
      .lower = loop::view(layout_as_strided),
      .cost = cost_of_view(),
      .samples =
          [call] {
            return joined(
                {over_dtypes(all_dtypes, {3, 4}, {{"size", {2, 3}}, {"stride", {4, 1}}}),
                 {call(f32({6}), {2, 2}, {1, 1}, 2), call(f32({2, 3}), {3, 2}, {1, 3}, 0),
                  call(f32({2, 3}), {2, 2}, {0, 2}, 1), call(f32({2, 3}), {}, {}, 4),
                  call(f32({2, 3}), {0, 9}, {100, 100}, 0), call(f32({6}), {6}, {1}, 0),
                  call(f32({6}), {3}, {2}, 1), call(bf16({6}), {4, 3}, {1, 1}, 0),
                  call(f64({2, 2, 2}), {2, 2}, {1, 4}, 1), call(f32({4}), {2, 3, 2}, {0, 1, 0}, 1),
                  call(f32({1}), {5}, {0}, 0), call(f32({}), {2, 2}, {0, 0}, 0),
                  call(f16({3, 3}), {3}, {4}, 0), call(f32({3, 70}), {2, 35}, {70, 2}, 71),
                  call(f32({4}), {1, 1}, {7, 9}, 3)}});
          },
      .rejects = [call]() -> Rejects {
        return {{"C1", call(f32({4}), {2, 2}, {1}, 0),
                 "as_strided: C1: 1 strides for 2 sizes, expected as many"},
                {"C2", call(f32({4}), {2}, {-1}, 0),
                 "as_strided: C2: size=[2], stride=[-1], storage_offset=0: expected none below 0"},
                {"C3", call(f32({2, 3}), {2, 2}, {3, 1}, 2),
                 "as_strided: C3: the last element lies at 6, expected it within the 6 of self: "
                 "f32[2,3]"}};
      },
  };
}

}  // namespace

CLEAVE_OPS(as_strided) { return {as_strided()}; }

}  // namespace cleave
