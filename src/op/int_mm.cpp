// _int_mm(self, mat2) -> y      y[i,j] = sum_k self[i,k] * mat2[k,j], without a loss
//
//   self i8[n,k], mat2 i8[k,m]  (C1) of rank 2, (C2) i8, (C3) of equal inner sizes, (C4) on one
//                               device
//   y    i32[n,m]               sums wrap; they can't below k = 131072
//
// Source: aten::_int_mm, ATen/native/LinearAlgebra.cpp, PyTorch 2.13.
#include <array>

#include "op/broadcast.h"
#include "op/cost.h"
#include "op/dims.h"
#include "op/entry.h"
#include "op/sample_sets.h"

namespace cleave {
namespace {

Result<Types> infer(const OpView& op) {
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

Result<Arrays> reference(const OpView& op, std::span<const Array* const> in) {
  const Array &a = *in[0], &b = *in[1];
  Array y(DType::i32, static_shape(op.out_type(0)));
  const int64_t inner = a.shape[1], columns = b.shape[1];
  for (int64_t at = 0; at < y.numel(); ++at) {
    int64_t sum = 0;
    for (int64_t p = 0; p < inner; ++p)
      sum += a.i[at / columns * inner + p] * b.i[p * columns + at % columns];
    y.set_int(at, sum);
  }
  return Arrays{y};
}

Values decompose(Builder& b, const OpView& op) {
  const ValueId left = b.convert(op.in(0), DType::i32), right = b.convert(op.in(1), DType::i32);
  return {b.mm(left, right)};
}

Cost cost(const OpView& op) {
  const int64_t inner = op.env().hint_of(op.in_type(0).shape[1]);
  return {2 * inner * numel_hint(op, op.out_type(0)), bytes_moved(op)};
}

std::vector<Sample> samples() {
  std::vector<Sample> out;
  for (const auto& [n, k, m] : {std::array<int64_t, 3>{3, 4, 2},
                                {1, 1, 1},
                                {17, 33, 9},
                                {5, 70, 40},
                                {0, 3, 2},
                                {2, 3, 0},
                                {2, 0, 3}})
    out.push_back({{any_of(DType::i8, {n, k}), any_of(DType::i8, {k, m})}});
  const auto all = [](std::vector<int64_t> shape) {
    return any_of(DType::i8, std::move(shape)).with({-128, -128, -128, -128});
  };
  out.push_back({{all({1, 4}), all({4, 1})}});
  return out;
}

std::vector<Reject> rejects() {
  const auto i8 = [](std::vector<int64_t> shape) { return any_of(DType::i8, std::move(shape)); };
  return {{"C1", {{i8({3}), i8({3, 2})}}, "_int_mm: C1: self is i8[3], expected rank 2"},
          {"C2",
           {{i8({2, 3}), any_of(DType::u8, {3, 2})}},
           "_int_mm: C2: mat2 is u8[3,2], expected i8"},
          {"C3", {{i8({2, 3}), i8({4, 2})}}, "_int_mm: C3: inner sizes: 3 and 4, expected equal"},
          {"C4",
           {{i8({2, 3}), on_cuda(i8({3, 2}))}},
           "_int_mm: C4: operands are on cpu and cuda:0, expected one device"}};
}

loop::LowerPtr lower() {
  loop::ProductRule rule;
  rule.a = 0;
  rule.b = 1;
  return loop::product(rule);
}

}  // namespace

CLEAVE_OPS(int_mm) {
  return {OpDef{
      .name = "_int_mm",
      .signature = "(Tensor self, Tensor mat2) -> Tensor",
      .summary = "The matrix product of integers of 8 bits, summed in 32.",
      .source = "aten::_int_mm, PyTorch 2.13",
      .traits = Trait::compute_intensive | Trait::recomputable,
      .infer = infer,
      .reference = reference,
      .decompose = decompose,
      .grad = Absent{"integer result"},
      .lower = lower(),
      .cost = cost,
      .samples = samples(),
      .rejects = rejects(),
  }};
}

}  // namespace cleave
