// Products of 8-bit integers.
//
//   _int_mm(self, mat2) -> y i32[n,m]      y[i,j] = sum_k self[i,k] * mat2[k,j]
//   int_mm_scaled(self, mat2, scale, other, bias) -> y f32[n,m]
//                                          y = sum * scale * other + bias, rounded at each step
//
//   self i8[n,k], mat2 i8[k,m]  (C1) of rank 2, (C2) i8, (C3) of equal inner sizes, (C4) on one
//                               device; sums wrap in 32 bits, impossible below k = 131072
//   scale                       a number or f32; other, bias f32 or none: (C5) f32, (C6) broadcast
//                               to the product
//
// int_mm_scaled is bitwise equal to the calls that it replaces; fuse_int_mm creates it, after
// differentiation.
// Source: aten::_int_mm, ATen/native/LinearAlgebra.cpp, PyTorch 2.13.
#include <array>

#include "op/broadcast.h"
#include "op/cost.h"
#include "op/dims.h"
#include "op/entry.h"
#include "op/pointwise.h"
#include "op/product.h"
#include "op/sample_sets.h"

namespace cleave {
namespace {

Result<Types> infer_sums(const OpView& op) {
  for (const int k : {0, 1}) {
    const Type& t = op.in_type(k);
    if (t.rank() != 2)
      return op.broken("C1", "{} is {}, expected rank 2", operand_name(op, k), t.text());
    if (t.dtype != DType::i8)
      return op.broken("C2", "{} is {}, expected i8", operand_name(op, k), t.text());
  }
  const Type &a = op.in_type(0), &b = op.in_type(1);
  CLEAVE_CHECK(check_equal(op, "C3", "inner sizes", a.shape[1], b.shape[0]));
  CLEAVE_CHECK(common_device(op, "C4", {0, 1}));
  Type y(DType::i32, {a.shape[0], b.shape[1]});
  y.device = a.device;
  return Types{std::move(y)};
}

Result<Types> infer_scaled(const OpView& op) {
  CLEAVE_TRY(Types y, infer_sums(op));
  y[0].dtype = DType::f32;
  for (const int k : {2, 3, 4}) {
    if (!op.has(k) || op.is_number(k)) continue;
    if (op.in_type(k).dtype != DType::f32)
      return op.broken("C5", "{} is {}, expected f32", operand_name(op, k), op.in_type(k).text());
    CLEAVE_CHECK(check_expandable(op, "C6", op.in_type(k).shape, y[0].shape));
    CLEAVE_CHECK(common_device(op, "C4", {0, k}));
  }
  return y;
}

Array sums_of(const Array& a, const Array& b) {
  Array y(DType::i32, {a.shape[0], b.shape[1]});
  const int64_t inner = a.shape[1], columns = b.shape[1];
  for (int64_t at = 0; at < y.numel(); ++at) {
    int64_t sum = 0;
    for (int64_t p = 0; p < inner; ++p)
      sum += a.i[at / columns * inner + p] * b.i[p * columns + at % columns];
    y.set_int(at, sum);
  }
  return y;
}

Result<Arrays> reference_sums(const OpView&, std::span<const Array* const> in) {
  return Arrays{sums_of(*in[0], *in[1])};
}

Result<Arrays> reference_scaled(const OpView& op, std::span<const Array* const> in) {
  const Array sums = sums_of(*in[0], *in[1]);
  Array y(DType::f32, sums.shape);
  std::vector<int64_t> at(2, 0);
  const auto element = [&](int k) { return in[k]->f[broadcast_position(at, in[k]->shape)]; };
  for (int64_t k = 0; k < y.numel(); ++k, next_index(at, y.shape)) {
    y.f[k] =
        static_cast<double>(sums.i[k]) * (op.is_number(2) ? op.number(2).as_double() : element(2));
    if (in[3] != nullptr) y.f[k] *= element(3);
    if (in[4] != nullptr) y.f[k] += element(4);
  }
  return Arrays{y};
}

Values decompose_scaled(Builder& b, const OpView& op) {
  const ValueId sums = b.call1("_int_mm", {op.in(0), op.in(1)});
  ValueId y = b.mul(b.convert(sums, DType::f32), operand_of(op, 2));
  if (op.has(3)) y = b.mul(y, op.in(3));
  if (op.has(4)) y = b.add(y, op.in(4));
  return {y};
}

Values decompose_sums(Builder& b, const OpView& op) {
  const ValueId left = b.convert(op.in(0), DType::i32), right = b.convert(op.in(1), DType::i32);
  return {b.mm(left, right)};
}

Cost cost(const OpView& op) {
  const int64_t inner = op.env().hint_of(op.in_type(0).shape[1]);
  return {2 * inner * numel_hint(op, op.out_type(0)), bytes_moved(op)};
}

using Shape8 = std::vector<int64_t>;
SampleTensor i8(Shape8 shape) { return any_of(DType::i8, std::move(shape)); }

std::vector<Sample> sample_sums() {
  std::vector<Sample> out;
  for (const auto& [n, k, m] : {std::array<int64_t, 3>{3, 4, 2},
                                {1, 1, 1},
                                {17, 33, 9},
                                {5, 70, 40},
                                {0, 3, 2},
                                {2, 3, 0},
                                {2, 0, 3}})
    out.push_back({{i8({n, k}), i8({k, m})}});
  const auto all = [](std::vector<int64_t> shape) {
    return i8(std::move(shape)).with({-128, -128, -128, -128});
  };
  out.push_back({{all({1, 4}), all({4, 1})}});
  return out;
}

std::vector<Sample> sample_scaled() {
  std::vector<Sample> out;
  for (const Shape8& scale : {Shape8{}, {1}, {4}, {1, 4}, {3, 1}, {3, 4}})
    out.push_back({{i8({3, 5}), i8({5, 4}), f32(scale)}});
  out.push_back({{i8({3, 5}), i8({5, 4}), 0.25}});
  out.push_back({{i8({17, 70}), i8({70, 40}), f32({17, 1}), f32({40})}});
  out.push_back({{i8({17, 70}), i8({70, 40}), f32({17, 1}), f32({40}), f32({40})}});
  out.push_back({{i8({2, 1601}), i8({1601, 65}), 0.5, f32({65}), f32({2, 65})}});
  out.push_back({{i8({0, 3}), i8({3, 2}), f32({2})}});
  out.push_back({{i8({2, 0}), i8({0, 3}), f32({2, 1}), f32({3}), f32({3})}});
  return out;
}

std::vector<Reject> reject_scaled() {
  return {{"C1", {{i8({3}), i8({3, 2}), 2}}, "int_mm_scaled: C1: self is i8[3], expected rank 2"},
          {"C2",
           {{i8({2, 3}), any_of(DType::i32, {3, 2}), 2}},
           "int_mm_scaled: C2: mat2 is i32[3,2], expected i8"},
          {"C3",
           {{i8({2, 3}), i8({4, 2}), 2}},
           "int_mm_scaled: C3: inner sizes: 3 and 4, expected equal"},
          {"C4",
           {{i8({2, 3}), on_cuda(i8({3, 2})), 2}},
           "int_mm_scaled: C4: self is i8[2,3] and mat2 is i8[3,2]@cuda:0, expected one device"},
          {"C5",
           {{i8({2, 3}), i8({3, 2}), f64({2})}},
           "int_mm_scaled: C5: scale is f64[2], expected f32"},
          {"C6",
           {{i8({2, 3}), i8({3, 2}), f32({1, 2, 2})}},
           "int_mm_scaled: C6: shape [1,2,2] doesn't broadcast to [2,2], expected dims that are "
           "equal or 1"}};
}

std::vector<Reject> reject_sums() {
  return {{"C1", {{i8({3}), i8({3, 2})}}, "_int_mm: C1: self is i8[3], expected rank 2"},
          {"C2",
           {{i8({2, 3}), any_of(DType::u8, {3, 2})}},
           "_int_mm: C2: mat2 is u8[3,2], expected i8"},
          {"C3", {{i8({2, 3}), i8({4, 2})}}, "_int_mm: C3: inner sizes: 3 and 4, expected equal"},
          {"C4",
           {{i8({2, 3}), on_cuda(i8({3, 2}))}},
           "_int_mm: C4: self is i8[2,3] and mat2 is i8[3,2]@cuda:0, expected one device"}};
}

loop::LibraryForm scaled_form(const OpView& op) {
  const double alpha = op.is_number(2) ? op.number(2).as_double() : 1;
  return product_form(op, {.c = 4, .scales = {2, 3}}, {.alpha = alpha, .scales_sums = true});
}

}  // namespace

CLEAVE_OPS(int_mm) {
  return {
      OpDef{
          .name = "_int_mm",
          .signature = "(Tensor self, Tensor mat2) -> Tensor",
          .summary = "The matrix product of integers of 8 bits, summed in 32.",
          .source = "aten::_int_mm, PyTorch 2.13",
          .traits = Trait::compute_intensive | Trait::recomputable,
          .infer = infer_sums,
          .reference = reference_sums,
          .decompose = decompose_sums,
          .grad = Absent{"integer result"},
          .lower = loop::library([](const OpView& op) { return product_form(op, {}); }),
          .cost = cost,
          .samples = sample_sums,
          .rejects = reject_sums,
      },
      OpDef{
          .name = "int_mm_scaled",
          .signature = "(Tensor self, Tensor mat2, Tensor|Scalar scale, Tensor? other=None, "
                       "Tensor? bias=None) -> Tensor",
          .summary =
              "The matrix product of integers of 8 bits, converted to f32, times scales, and "
              "an added term.",
          .source = "cleave",
          .traits = Trait::compute_intensive | Trait::recomputable,
          .infer = infer_scaled,
          .reference = reference_scaled,
          .decompose = decompose_scaled,
          .grad = Absent{"calls are fused after the gradient"},
          .lower = loop::library(scaled_form),
          .cost = cost,
          .samples = sample_scaled,
          .rejects = reject_scaled,
      },
  };
}

}  // namespace cleave
