// nonzero_static(self; size, fill_value) -> i64 [size, rank of self]
//   where the first `size` elements lie that aren't 0, in row-major order; behind the last of them
//   all coordinates are fill_value
//
//   self  [*s] of any dtype      (C1) size is at least 0
//
// It is nonzero with a size that doesn't depend on values.
// Source: aten/src/ATen/native/TensorAdvancedIndexing.cpp, PyTorch 2.13.
#include "op/cost.h"
#include "op/dims.h"
#include "op/entry.h"
#include "op/sample_sets.h"

namespace cleave {
namespace {

Result<Types> infer(const OpView& op) {
  const Type& x = op.in_type(0);
  const Dim size = op.dim_attr("size");
  if (op.env().range_of(size).lo < 0)
    return op.broken("C1", "size is {}, expected at least 0", size.text());
  return Types{typed_like(x, DType::i64, {size, Dim(x.rank())})};
}

Result<Arrays> reference(const OpView& op, std::span<const Array* const> in) {
  const Array& x = *in[0];
  const int64_t size = op.int_attr("size"), rank = x.rank();
  Array y(DType::i64, {size, rank});
  for (int64_t& v : y.i) v = op.int_attr("fill_value");
  std::vector<int64_t> at(x.shape.size(), 0);
  for (int64_t k = 0, found = 0; k < x.numel() && found < size; ++k, next_index(at, x.shape))
    if (x.floating() ? x.f[k] != 0 : x.i[k] != 0) {
      std::ranges::copy(at, y.i.begin() + found * rank);
      ++found;
    }
  return Arrays{std::move(y)};
}

// Each element that counts is written where its number says, the others to a place that is cut off.
Values decompose(Builder& b, const OpView& op) {
  const Shape& shape = op.in_type(0).shape;
  const Dim size = op.dim_attr("size"), count = op.in_type(0).numel();
  const AttrValue fill(op.int_attr("fill_value"));
  if (shape.empty() || (count.is_const() && count.value() == 0))
    return {b.full({size, Dim(op.in_type(0).rank())}, fill, DType::i64)};
  const auto numbers = [&](const Dim& end) {
    return b.call1("arange", {}, {{"end", end}, {"dtype", DType::i64}});
  };
  const ValueId counts = b.view(b.ne(op.in(0), 0), {count});
  const ValueId number = b.call1("cumsum", {b.convert(counts, DType::i64)}, {{"dim", 0}});
  const ValueId fits = b.logical_and(counts, b.le(number, AttrValue(size)));
  const ValueId place = b.where(fits, b.sub(number, AttrValue(int64_t{1})), AttrValue(size));
  const ValueId flat = b.slice(
      b.call1("scatter",
              {b.full({size + Dim(1)}, AttrValue(int64_t{0}), DType::i64), place, numbers(count)},
              {{"dim", 0}}),
      0, Dim(0), size);
  const ValueId is_found = b.lt(numbers(size), b.sum(b.convert(counts, DType::i64), {}));
  Values coordinates(shape.size());
  Dim stride = 1;
  for (size_t d = shape.size(); d-- > 0; stride = stride * shape[d]) {
    const ValueId line =
        b.call1("div", {flat, AttrValue(stride)}, {{"rounding_mode", std::string("floor")}});
    const ValueId along = b.call1("remainder", {line, AttrValue(shape[d])});
    coordinates[d] = b.where(is_found, along, fill);
  }
  return {b.call1("stack", {CallOperand(coordinates)}, {{"dim", 1}})};
}

Samples samples() {
  const auto call = [](SampleTensor x, int64_t size, int64_t fill = -1) {
    return Sample{{std::move(x)}, {{"size", size}, {"fill_value", fill}}};
  };
  Samples out;
  for (const DType t : all_dtypes)
    out.push_back(call(sample(t, {2, 3}).with({0, 1, 0, 2, 1, 0}), 4));
  out.push_back(call(f32({7}).with({NAN, 0, -0.0, 1, INFINITY, 0, 2}), 2, 9));
  out.push_back(call(i64({2, 3, 2}).range(0, 2), 12));
  out.push_back(call(boolean({5}), 0));
  out.push_back(call(f32({}), 2));
  out.push_back(call(f32({3, 0}), 2));
  out.push_back({{i32({4}).range(0, 3)}, {{"size", 3}}});
  return out;
}

}  // namespace

CLEAVE_OPS(nonzero_static) {
  return {OpDef{
      .name = "nonzero_static",
      .signature = "(Tensor self, *, SymInt size, int fill_value=-1) -> Tensor",
      .summary = "Where the first elements lie that aren't 0, as many as are asked for.",
      .source = "aten::nonzero_static, PyTorch 2.13",
      .traits = Trait::recomputable,
      .infer = infer,
      .reference = reference,
      .decompose = decompose,
      .grad = Absent{"integer result"},
      .lower = loop::by_decomposition(),
      .cost = cost_per_operand(4),
      .samples = samples,
      .rejects = []() -> Rejects {
        return {{"C1",
                 {{f32({3})}, {{"size", -1}}},
                 "nonzero_static: C1: size is -1, expected at least 0"}};
      },
      .nondifferentiable = 1,
  }};
}

}  // namespace cleave
