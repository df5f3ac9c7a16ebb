// uint4x2_mm(self, mat2) -> y      y[i,j] = sum_k self[i,k] * (number(k, j) - 8)
//
//   number(2r, j)      the low four bits of mat2[r,j]
//   number(2r + 1, j)  its high four bits
//
//   self f[n,2r]  (C1) of rank 2, (C2) f32, bf16 or f16
//   mat2 u8[r,m]  (C1) of rank 2, (C2) u8; (C3) half as many rows as self has columns
//   y    f[n,m]   (C4) operands are on one device; sums are in f32
//
// Bitwise equal to the product with the unpacked matrix, which it replaces and never materializes.
// fuse_uint4x2_mm creates it, after differentiation.
#include <array>

#include "op/broadcast.h"
#include "op/cost.h"
#include "op/dims.h"
#include "op/entry.h"
#include "op/product.h"
#include "op/reference_sum.h"
#include "op/sample_sets.h"

namespace cleave {
namespace {

Result<Types> infer(const OpView& op) {
  const Type &a = op.in_type(0), &b = op.in_type(1);
  for (const int k : {0, 1})
    if (op.in_type(k).rank() != 2)
      return op.broken("C1", "{} is {}, expected rank 2", operand_name(op, k),
                       op.in_type(k).text());
  if (!is_floating(a.dtype) || a.dtype == DType::f64)
    return op.broken("C2", "self is {}, expected f32, bf16 or f16", a.text());
  if (b.dtype != DType::u8) return op.broken("C2", "mat2 is {}, expected u8", b.text());
  CLEAVE_CHECK(check_equal(op, "C3", "inner sizes", a.shape[1], b.shape[0] * Dim(2)));
  CLEAVE_CHECK(common_device(op, "C4", {0, 1}));
  Type y(a.dtype, {a.shape[0], b.shape[1]});
  y.device = a.device;
  return Types{std::move(y)};
}

Result<Arrays> reference(const OpView& op, std::span<const Array* const> in) {
  const Array &a = *in[0], &b = *in[1];
  Array y(a.dtype, static_shape(op.out_type(0)));
  const int64_t inner = a.shape[1], columns = b.shape[1];
  for (int64_t at = 0; at < y.numel(); ++at) {
    ReferenceSum sum;
    for (int64_t p = 0; p < inner; ++p) {
      const int64_t both = b.i[p / 2 * columns + at % columns];
      const int64_t number = p % 2 == 0 ? both % 16 : both / 16;
      sum += a.f[at / columns * inner + p] * static_cast<double>(number - 8);
    }
    y.f[at] = sum;
  }
  return Arrays{y};
}

Values decompose(Builder& b, const OpView& op) {
  const Type &a = op.in_type(0), &packed = op.in_type(1);
  const ValueId low = b.call1("bitwise_and", {op.in(1), 15});
  const ValueId high = b.call1("__rshift__", {op.in(1), 4});
  const ValueId rows = b.view(b.cat({low, high}, 1), {a.shape[1], packed.shape[1]});
  return {b.mm(op.in(0), b.sub(b.convert(rows, a.dtype), 8))};
}

Cost cost(const OpView& op) {
  const int64_t inner = op.env().hint_of(op.in_type(0).shape[1]);
  return {2 * inner * numel_hint(op, op.out_type(0)), bytes_moved(op)};
}

SampleTensor packed(std::vector<int64_t> shape) {
  return sample(DType::u8, std::move(shape)).range(0, 256);
}

std::vector<Sample> samples() {
  std::vector<Sample> out;
  for (const DType t : {DType::f32, DType::bf16, DType::f16})
    out.push_back({{any_of(t, {3, 4}), packed({2, 5})}});
  for (const auto& [n, r, m] : {std::array<int64_t, 3>{1, 1, 1},
                                {17, 9, 40},
                                {5, 401, 33},
                                {0, 3, 2},
                                {2, 3, 0},
                                {2, 0, 3}})
    out.push_back({{f32({n, 2 * r}), packed({r, m})}});
  out.push_back({{bf16({13, 102}), packed({51, 70})}});
  return out;
}

std::vector<Reject> rejects() {
  return {{"C1", {{f32({4}), packed({2, 2})}}, "uint4x2_mm: C1: self is f32[4], expected rank 2"},
          {"C2",
           {{f64({2, 4}), packed({2, 2})}},
           "uint4x2_mm: C2: self is f64[2,4], expected f32, bf16 or f16"},
          {"C2", {{f32({2, 4}), i32({2, 2})}}, "uint4x2_mm: C2: mat2 is i32[2,2], expected u8"},
          {"C3",
           {{f32({2, 4}), packed({4, 2})}},
           "uint4x2_mm: C3: inner sizes: 4 and 8, expected equal"},
          {"C4",
           {{f32({2, 4}), on_cuda(packed({2, 2}))}},
           "uint4x2_mm: C4: self is f32[2,4] and mat2 is u8[2,2]@cuda:0, expected one device"}};
}

loop::LibraryForm form(const OpView& op) { return product_form(op, {}, {.b_is_nibbles = true}); }

}  // namespace

CLEAVE_OPS(uint4x2_mm) {
  return {OpDef{
      .name = "uint4x2_mm",
      .signature = "(Tensor self, Tensor mat2) -> Tensor",
      .summary = "The matrix product with numbers of four bits, two in a byte, each less 8.",
      .source = "cleave",
      .traits = Trait::compute_intensive | Trait::recomputable,
      .infer = infer,
      .reference = reference,
      .decompose = decompose,
      .grad = Absent{"calls are fused after the gradient"},
      .lower = loop::library(form),
      .cost = cost,
      .samples = samples,
      .rejects = rejects,
  }};
}

}  // namespace cleave
