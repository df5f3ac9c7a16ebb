// packed_addmm(self, panels, input; columns, beta, alpha) -> y = beta * input + alpha * self B
//
//   B[k,j] = panels[j / 32, k, j % 32]
//
//   self   f32[n,k]     (C1) of rank 2, (C2) f32
//   panels f32[p,k,32]  (C1) of rank 3 with 32 columns, (C2) f32, (C3) equal inner sizes; numbers
//                       beyond the last column don't matter
//   y      f32[n,m]     m = columns, (C4) of which p panels hold 32 each but for the last
//   input               none, or (C2) f32, (C6) broadcast to the product
//   (C5) operands are on one device
//
// Bitwise equal to mm and addmm with B, whose order a product needs while it runs. pack_weights
// creates it in frozen programs.
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
  if (a.rank() != 2) return op.broken("C1", "self is {}, expected rank 2", a.text());
  if (b.rank() != 3 || !op.env().provably_equal(b.shape[2], Dim(gemm_panel)))
    return op.broken("C1", "panels is {}, expected rank 3 with {} columns", b.text(), gemm_panel);
  for (const int k : {0, 1, 2})
    if (op.has(k) && op.in_type(k).dtype != DType::f32)
      return op.broken("C2", "{} is {}, expected f32", operand_name(op, k), op.in_type(k).text());
  CLEAVE_CHECK(check_equal(op, "C3", "inner sizes", a.shape[1], b.shape[1]));
  const int64_t columns = op.int_attr("columns");
  const int64_t panels = columns / gemm_panel + (columns % gemm_panel > 0);
  if (columns < 0 || !op.env().provably_equal(b.shape[0], Dim(panels)))
    return op.broken("C4", "{} columns in panels: {}", columns, b.text());
  CLEAVE_CHECK(common_device(op, "C5", {0, 1}));
  Type y(DType::f32, {a.shape[0], Dim(columns)});
  y.device = a.device;
  if (op.has(2)) {
    CLEAVE_CHECK(common_device(op, "C5", {0, 2}));
    CLEAVE_CHECK(check_expandable(op, "C6", op.in_type(2).shape, y.shape));
  }
  return Types{std::move(y)};
}

Result<Arrays> reference(const OpView& op, std::span<const Array* const> in) {
  const Array &a = *in[0], &b = *in[1];
  Array y(DType::f32, static_shape(op.out_type(0)));
  const int64_t inner = a.shape[1];
  const double alpha = op.float_attr("alpha"), beta = op.float_attr("beta");
  std::vector<int64_t> at(2, 0);
  for (int64_t n = 0; n < y.numel(); ++n, next_index(at, y.shape)) {
    ReferenceSum sum;
    for (int64_t p = 0; p < inner; ++p)
      sum += a.f[at[0] * inner + p] *
             b.f[(at[1] / gemm_panel * inner + p) * gemm_panel + at[1] % gemm_panel];
    y.f[n] = alpha * sum;
    if (in[2] != nullptr && beta != 0)
      y.f[n] += beta * in[2]->f[broadcast_position(at, in[2]->shape)];
  }
  return Arrays{y};
}

Values decompose(Builder& b, const OpView& op) {
  const Type& panels = op.in_type(1);
  const ValueId rows = b.permute(op.in(1), {1, 0, 2});
  const ValueId wide =
      b.view(b.call1("clone", {rows}), {panels.shape[1], panels.shape[0] * Dim(gemm_panel)});
  const ValueId matrix = b.call1(
      "slice", {wide}, {{"dim", 1}, {"start", 0}, {"end", op.int_attr("columns")}, {"step", 1}});
  const double beta = op.float_attr("beta"), alpha = op.float_attr("alpha");
  if (op.has(2))
    return {b.call1("addmm", {op.in(2), op.in(0), matrix}, {{"beta", beta}, {"alpha", alpha}})};
  const ValueId y = b.mm(op.in(0), matrix);
  return {alpha == 1 ? y : b.mul(y, alpha)};
}

Cost cost(const OpView& op) {
  const int64_t inner = op.env().hint_of(op.in_type(0).shape[1]);
  return {2 * inner * numel_hint(op, op.out_type(0)), bytes_moved(op)};
}

loop::LibraryForm form(const OpView& op) {
  return product_form(op, {.a = 0, .b = 1, .c = 2},
                      {.n = op.int_attr("columns"),
                       .alpha = op.float_attr("alpha"),
                       .beta = op.float_attr("beta"),
                       .b_packed = true});
}

std::vector<Sample> samples() {
  std::vector<Sample> out;
  for (const auto& [n, k, m] : {std::array<int64_t, 3>{3, 4, 2},
                                {1, 1, 1},
                                {17, 33, 40},
                                {5, 70, 64},
                                {0, 3, 2},
                                {2, 3, 0},
                                {2, 0, 33}}) {
    const int64_t panels = (m + gemm_panel - 1) / gemm_panel;
    out.push_back({{f32({n, k}), f32({panels, k, gemm_panel})}, {{"columns", m}}});
    out.push_back({{f32({n, k}), f32({panels, k, gemm_panel}), f32({m})},
                   {{"columns", m}, {"beta", 0.5}, {"alpha", 2.0}}});
  }
  return out;
}

std::vector<Reject> rejects() {
  return {
      {"C1",
       {{f32({4}), f32({1, 4, 32})}, {{"columns", 2}}},
       "packed_addmm: C1: self is f32[4], expected rank 2"},
      {"C1",
       {{f32({2, 4}), f32({2, 4, 16})}, {{"columns", 32}}},
       "packed_addmm: C1: panels is f32[2,4,16], expected rank 3 with 32 columns"},
      {"C2",
       {{f64({2, 4}), f32({1, 4, 32})}, {{"columns", 2}}},
       "packed_addmm: C2: self is f64[2,4], expected f32"},
      {"C3",
       {{f32({2, 3}), f32({1, 4, 32})}, {{"columns", 2}}},
       "packed_addmm: C3: inner sizes: 3 and 4, expected equal"},
      {"C4",
       {{f32({2, 4}), f32({1, 4, 32})}, {{"columns", 33}}},
       "packed_addmm: C4: 33 columns in panels: f32[1,4,32]"},
      {"C5",
       {{f32({2, 4}), on_cuda(f32({1, 4, 32}))}, {{"columns", 2}}},
       "packed_addmm: C5: self is f32[2,4] and panels is f32[1,4,32]@cuda:0, expected one device"},
      {"C6",
       {{f32({2, 4}), f32({1, 4, 32}), f32({3})}, {{"columns", 2}}},
       "packed_addmm: C6: shapes [3] and [2,2] don't broadcast: dim -1 is 3 and 2, expected equal "
       "sizes or 1"}};
}

}  // namespace

CLEAVE_OPS(packed_addmm) {
  return {OpDef{
      .name = "packed_addmm",
      .signature = "(Tensor self, Tensor panels, Tensor? input=None, *, int columns, "
                   "Scalar beta=1, Scalar alpha=1) -> Tensor",
      .summary = "The matrix product with a matrix in panels of 32 columns, plus a term.",
      .source = "cleave",
      .traits = Trait::compute_intensive | Trait::recomputable,
      .infer = infer,
      .reference = reference,
      .decompose = decompose,
      .grad = Absent{"weights are packed after the gradient"},
      .lower = loop::library(form),
      .cost = cost,
      .samples = samples,
      .rejects = rejects,
  }};
}

}  // namespace cleave
