// What a factorization with swapped rows holds, as three matrices: A = P L U.
//
// lu_unpack(LU_data, LU_pivots; unpack_data, unpack_pivots) -> (P, L, U)
//   LU_data [*s,m,n]   LU_pivots i32[*s,k]   P [*s,m,m]   L [*s,m,k]   U [*s,k,n]   k = min(m,n)
//
//   (C1) LU_data is f32 or f64  (C2) at least two dims  (C3) LU_pivots is i32[*s,k]
//   (C4) both on one device  (C5) 1 <= LU_pivots <= m
//
// P swaps row i with row LU_pivots[i] - 1, from i = k - 1 down to 0. What isn't unpacked has no
// elements: [0]. With unpack_pivots the numbers are checked.
#include "op/broadcast.h"
#include "op/cost.h"
#include "op/dims.h"
#include "op/entry.h"
#include "op/kernel_loops.h"
#include "op/matrices.h"
#include "op/sample_sets.h"

namespace cleave {
namespace {

using loop::Expr;
using loop::Exprs;
using loop::Op;

constexpr const char* pivots_of_rows = "lu_unpack: LU_pivots";

bool has_data(const OpView& op) { return op.bool_attr("unpack_data"); }
bool has_order(const OpView& op) { return op.bool_attr("unpack_pivots"); }

Result<Types> infer(const OpView& op) {
  CLEAVE_CHECK(check_matrices(op, "C1", "C2", 0));
  const Type &a = op.in_type(0), &pivots = op.in_type(1);
  if (pivots.dtype != DType::i32)
    return op.broken("C3", "LU_pivots is {}, expected i32", pivots.text());
  CLEAVE_CHECK(check_same_shape(op, "C3", "LU_pivots and the diagonals of LU_data", pivots.shape,
                                batch_with(a, {diagonal_of(a)})));
  CLEAVE_CHECK(common_device(op, "C4", {0, 1}));
  const auto of = [&](bool is_there, const Dim& rows, const Dim& columns) {
    return typed_like(a, a.dtype, is_there ? batch_with(a, {rows, columns}) : Shape{Dim(0)});
  };
  return Types{of(has_order(op), rows_of(a), rows_of(a)),
               of(has_data(op), rows_of(a), diagonal_of(a)),
               of(has_data(op), diagonal_of(a), columns_of(a))};
}

// Which row of A each row of L U is; the failure where a number is no row.
Result<std::vector<int64_t>> order_of(const int64_t* pivots, int64_t count, int64_t rows) {
  std::vector<int64_t> order;
  for (int64_t i = 0; i < rows; ++i) order.push_back(i);
  for (int64_t k = 0; k < count; ++k) {
    const int64_t at = pivots[k] - 1;
    if (at < 0 || at >= rows)
      return user_error("{}: index {} is out of range [0, {})", pivots_of_rows, at, rows);
    std::swap(order[static_cast<size_t>(k)], order[static_cast<size_t>(at)]);
  }
  return order;
}

Result<Arrays> reference(const OpView& op, std::span<const Array* const> in) {
  const Array& a = *in[0];
  Arrays out;
  for (int k = 0; k < 3; ++k) out.emplace_back(a.dtype, static_shape(op.out_type(k)));
  const int64_t m = a.shape[a.shape.size() - 2], n = a.shape.back(), least = std::min(m, n);
  for (int64_t b = 0; b < matrices_in(a); ++b) {
    if (has_order(op)) {
      CLEAVE_TRY(const std::vector<int64_t> order, order_of(in[1]->i.data() + b * least, least, m));
      for (int64_t i = 0; i < m; ++i) out[0].f[(b * m + order[i]) * m + i] = 1;
    }
    for (int64_t i = 0; i < m && has_data(op); ++i)
      for (int64_t j = 0; j < n; ++j) {
        const double x = a.f[(b * m + i) * n + j];
        if (j <= i && j < least) out[1].f[(b * m + i) * least + j] = j < i ? x : 1;
        if (j >= i) out[2].f[(b * least + i) * n + j] = x;
      }
  }
  return Arrays{std::move(out)};
}

void write_order(loop::KernelBuilder& k, const OpView& op) {
  const std::vector<int64_t> shape = static_shape(op.in_type(0));
  const std::vector<int64_t> batch(shape.begin(), shape.end() - 2);
  const int64_t m = shape[batch.size()], least = std::min(m, shape.back());
  const DType t = op.in_type(0).dtype;
  std::vector<int64_t> lines = batch;
  lines.push_back(m);
  const int order = k.scratch(DType::i32, lines);
  for_each_matrix(k, batch, [&](const Exprs& matrix) {
    const auto row = [&](const Expr& i) { return k.load_result(order, element(matrix, i)); };
    k.each(Expr(m),
           [&](const Expr& i) { k.store(order, element(matrix, i), cast(i, DType::i32)); });
    k.loop(Expr(least), [&](const Expr& i) {
      const Expr pivot = k.load(1, element(matrix, i));
      const Expr at = k.checked_from_zero(cast(pivot, DType::i64) - Expr(1), m, pivots_of_rows);
      const Expr kept = k.define(row(i), "kept");
      k.store(order, element(matrix, i), row(at));
      k.store(order, element(matrix, at), kept);
    });
    k.loops({m, m}, [&](const Exprs& at) {
      const Expr one = binary(Op::eq, cast(row(at[1]), DType::i64), at[0]);
      k.store(0, element(matrix, at[0], at[1]), cast(one, t));
    });
  });
}

void write_data(loop::KernelBuilder& k, const OpView& op) {
  const DType t = op.in_type(0).dtype;
  for (const int which : {1, 2})
    for_each_element(k, static_shape(op.out_type(which)), [&](const Exprs& i) {
      const Expr& row = i[i.size() - 2];
      const Expr& column = i.back();
      const Expr x = k.load(0, i), zero = loop::constant(t, 0);
      const Expr diagonal = which == 1 ? loop::constant(t, 1) : x;
      const Expr is_kept = binary(which == 1 ? Op::lt : Op::gt, column, row);
      k.store(which, i, select(is_kept, x, select(binary(Op::eq, column, row), diagonal, zero)));
    });
}

void lower(loop::KernelBuilder& k, const OpView& op) {
  if (has_order(op)) write_order(k, op);
  if (has_data(op)) write_data(k, op);
}

// The part of a gradient, with zeros where LU_data is larger.
ValueId widened(Builder& b, ValueId x, const Type& to, int64_t dim) {
  const size_t at = to.shape.size() + static_cast<size_t>(dim);
  Shape rest = b.type(x).shape;
  if (rest[at] == to.shape[at]) return x;
  rest[at] = to.shape[at] - rest[at];
  return b.cat({x, b.full(rest, 0.0, to.dtype)}, dim);
}

Values grad(Builder& b, const GradView& op) {
  Values d = op.no_grads();
  if (!has_data(op)) return d;
  const Type& a = op.in_type(0);
  if (op.dout(1).valid()) d[0] = widened(b, lower_part(b, op.dout(1), -1), a, -1);
  if (op.dout(2).valid()) {
    const ValueId above = widened(b, upper_part(b, op.dout(2)), a, -2);
    d[0] = d[0].valid() ? b.add(d[0], above) : above;
  }
  return d;
}

SampleTensor numbers(std::vector<int64_t> shape, std::vector<double> values) {
  return i32(std::move(shape)).with(std::move(values));
}

Samples samples() {
  return {{{f64({3, 3}), numbers({3}, {3, 3, 3})}},
          {{f32({2, 3, 3}), numbers({2, 3}, {2, 3, 3, 1, 2, 3})}},
          {{f32({4, 2}), numbers({2}, {4, 3})}},
          {{f64({2, 4}), numbers({2}, {2, 2})}},
          {{f32({3, 3}), numbers({3}, {2, 2, 3})}, {{"unpack_pivots", false}}},
          {{f32({3, 3}), numbers({3}, {2, 2, 3})}, {{"unpack_data", false}}},
          {{f32({2, 2}), numbers({2}, {0, 9})}, {{"unpack_pivots", false}}},
          {{f32({0, 0}), numbers({0}, {0})}},
          {{f32({3, 0}), numbers({0}, {0})}},
          {{f32({0, 2, 2}), numbers({0, 2}, {1})}}};
}

Rejects rejects() {
  const std::string op = "lu_unpack: ";
  return {{"C1",
           {{bf16({2, 2}), numbers({2}, {1, 2})}},
           op + "C1: LU_data is bf16[2,2], expected f32 or f64"},
          {"C2",
           {{f32({2}), numbers({2}, {1, 2})}},
           op + "C2: LU_data is f32[2], expected at least two dims"},
          {"C3", {{f32({2, 2}), i64({2})}}, op + "C3: LU_pivots is i64[2], expected i32"},
          {"C3",
           {{f32({2, 2}), numbers({3}, {1, 2, 1})}},
           op + "C3: LU_pivots and the diagonals of LU_data: [3] and [2], expected equal shapes"},
          {"C4",
           {{f32({2, 2}), on_cuda(numbers({2}, {1, 2}))}},
           op + "C4: LU_data is f32[2,2] and LU_pivots is i32[2]@cuda:0, expected one device"},
          {"C5",
           {{f32({2, 2}), numbers({2}, {1, 3})}},
           op + "LU_pivots: index 2 is out of range [0, 2)"},
          {"C5",
           {{f32({2, 2}), numbers({2}, {0, 2})}},
           op + "LU_pivots: index -1 is out of range [0, 2)"}};
}

}  // namespace

CLEAVE_OPS(lu_unpack) {
  return {OpDef{
      .name = "lu_unpack",
      .signature = "(Tensor LU_data, Tensor LU_pivots, bool unpack_data=True, "
                   "bool unpack_pivots=True) -> (Tensor, Tensor, Tensor)",
      .summary = "The permutation and the two triangles of a factorization with swapped rows.",
      .source = "aten::lu_unpack, PyTorch 2.13",
      .traits = Trait::recomputable | Trait::data_dependent,
      .infer = infer,
      .reference = reference,
      .decompose = Absent{"a primitive: each swap reads those before it"},
      .grad = grad,
      .lower = loop::kernel(lower),
      .cost = cost_per_result(1),
      .samples = samples,
      .rejects = rejects,
      .nondifferentiable = 0b1,
  }};
}

}  // namespace cleave
