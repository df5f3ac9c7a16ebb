// Systems whose matrix is given as a factorization with swapped rows.
//
// linalg_lu_solve(LU, pivots, B; left, adjoint) -> X     A = P L U (linalg_lu_factor_ex)
//   LU [*s,n,n]   pivots i32[*s,n]   B [*t,n,m]   X [*u,n,m]   A X = B     *u: *s and *t broadcast
//   not left:                        B [*t,m,n]   X [*u,m,n]   X A = B
//   adjoint: A^T in the place of A
//
//   (C1) LU is f32 or f64  (C2) at least two dims  (C3) square  (C4) B has its dtype
//   (C5) pivots is i32[*s,n]  (C6) all on one device  (C7) B has n rows, or not left n columns
//   (C8) *s and *t broadcast  (C9) 1 <= pivots <= n
//
// Sums are kept in f64. A 0 on the diagonal of U divides: X has infinities and NaN then.
#include "op/broadcast.h"
#include "op/cost.h"
#include "op/dims.h"
#include "op/entry.h"
#include "op/kernel_loops.h"
#include "op/matrices.h"
#include "op/reference_elimination.h"
#include "op/sample_sets.h"

namespace cleave {
namespace {

using loop::Expr;
using loop::Exprs;

enum Operand { at_lu, at_pivots, at_known };

constexpr const char* pivots_of_rows = "linalg_lu_solve: pivots";

// X A = B is A^T X^T = B^T.
bool is_turned(const OpView& op) { return op.bool_attr("left") == op.bool_attr("adjoint"); }

Result<Types> infer(const OpView& op) {
  CLEAVE_CHECK(check_matrices(op, "C1", "C2", at_lu));
  CLEAVE_CHECK(check_square(op, "C3", at_lu));
  CLEAVE_CHECK(check_same_dtype(op, "C4", at_known, at_lu));
  CLEAVE_CHECK(check_matrices(op, "C1", "C2", at_known));
  const Type &lu = op.in_type(at_lu), &pivots = op.in_type(at_pivots), &b = op.in_type(at_known);
  if (pivots.dtype != DType::i32)
    return op.broken("C5", "pivots is {}, expected i32", pivots.text());
  CLEAVE_CHECK(check_same_shape(op, "C5", "pivots and the diagonals of LU", pivots.shape,
                                batch_with(lu, {rows_of(lu)})));
  CLEAVE_CHECK(common_device(op, "C6", {at_lu, at_known}));
  CLEAVE_CHECK(common_device(op, "C6", {at_lu, at_pivots}));
  const bool left = op.bool_attr("left");
  CLEAVE_CHECK(check_equal(op, "C7",
                           left ? "sizes of LU and columns of B" : "sizes of LU and rows of B",
                           rows_of(lu), left ? rows_of(b) : columns_of(b)));
  CLEAVE_TRY(Shape shape, broadcast_shapes(op, "C8", batch_of(lu), batch_of(b)));
  shape.push_back(rows_of(b));
  shape.push_back(columns_of(b));
  return Types{typed_like(b, b.dtype, std::move(shape))};
}

Result<Arrays> reference(const OpView& op, std::span<const Array* const> in) {
  const Array &lu = *in[at_lu], &pivots = *in[at_pivots], &b = *in[at_known];
  Array x(b.dtype, static_shape(op.out_type(0)));
  const int64_t n = lu.shape.back();
  if (x.numel() == 0) return Arrays{std::move(x)};
  for (const int64_t row : pivots.i)
    if (row < 1 || row > n)
      return user_error("{}: index {} is out of range [0, {})", pivots_of_rows, row - 1, n);
  solve_all_eliminated(lu, pivots, b, op.bool_attr("left"), is_turned(op), x);
  return Arrays{std::move(x)};
}

// So many systems of one matrix are solved at a time, side by side.
constexpr int64_t side_by_side = 64;

// Swaps, one triangle from its first row, the other from its last one.
void lower(loop::KernelBuilder& k, const OpView& op) {
  const std::vector<int64_t> shape = k.result(0).layout.shape;
  const bool left = op.bool_attr("left"), turned = is_turned(op);
  const DType own = op.out_type(0).dtype;
  const int64_t n = left ? shape[shape.size() - 2] : shape.back(),
                m = left ? shape.back() : shape[shape.size() - 2];
  if (numel_of(shape) == 0) return;
  std::vector<int64_t> pieces(shape.begin(), shape.end() - 2), lines = pieces;
  pieces.push_back((m + side_by_side - 1) / side_by_side);
  lines.push_back(m);
  const int sums = k.scratch(DType::f64, lines);
  k.parallel(pieces, [&](const Exprs& piece) {
    const Exprs batch(piece.begin(), piece.end() - 1);
    const Expr begin = k.let(piece.back() * Expr(side_by_side), "begin");
    const Expr count = k.let(binary(loop::Op::min, Expr(m) - begin, Expr(side_by_side)), "count");
    const auto each = [&](const std::function<void(const Expr& system)>& body) {
      k.each(count, [&](const Expr& c) { body(begin + c); });
    };
    const auto place = [&](const Expr& i, const Expr& system) {
      return left ? element(batch, i, system) : element(batch, system, i);
    };
    const auto x = [&](const Expr& i, const Expr& c) { return k.load_result(0, place(i, c)); };
    const auto sum = [&](const Expr& c) { return k.load_result(sums, element(batch, c)); };
    const auto set_sum = [&](const Expr& c, const Expr& value) {
      k.store(sums, element(batch, c), value);
    };
    const auto factor = [&](const Expr& i, const Expr& j) {
      const Exprs at = turned ? element(batch, j, i) : element(batch, i, j);
      return k.let(cast(k.load_broadcast(at_lu, at), DType::f64), "factor");
    };
    const auto from_end = [&](const Expr& step) { return k.let(Expr(n - 1) - step, "i"); };
    const auto swap = [&](const Expr& i) {
      // pivots has no dim of rows: its batch is the matrix's
      const Expr pivot = cast(k.load_broadcast(at_pivots, element(batch, i)), DType::i64);
      const Expr at = k.checked_from_zero(pivot - Expr(1), n, pivots_of_rows);
      k.loop(count, [&](const Expr& c) {
        const Expr system = begin + c, kept = k.define(x(i, system), "kept");
        k.store(0, place(i, system), x(at, system));
        k.store(0, place(at, system), kept);
      });
    };
    const auto solved = [&](const Expr& i, const Expr& known, bool back, bool divides) {
      each([&](const Expr& c) { set_sum(c, cast(x(i, c), DType::f64)); });
      k.loop(known, [&](const Expr& before) {
        const Expr j = back ? k.let(i + Expr(1) + before, "j") : before, by = factor(i, j);
        each([&](const Expr& c) { set_sum(c, sum(c) - by * cast(x(j, c), DType::f64)); });
      });
      const Expr by = divides ? factor(i, i) : loop::constant(DType::f64, 1);
      each([&](const Expr& c) { k.store(0, place(i, c), cast(sum(c) / by, own)); });
    };
    k.loop(Expr(n), [&](const Expr& i) {
      each(
          [&](const Expr& c) { k.store(0, place(i, c), k.load_broadcast(at_known, place(i, c))); });
    });
    if (!turned) k.loop(Expr(n), swap);
    k.loop(Expr(n), [&](const Expr& i) { solved(i, i, false, turned); });
    k.loop(Expr(n), [&](const Expr& step) { solved(from_end(step), step, true, !turned); });
    if (turned) k.loop(Expr(n), [&](const Expr& step) { swap(from_end(step)); });
  });
}

// With G the solution of the transposed system for dX: dB = G, and dA = -G X^T, or -X^T G where X
// is on the left; turned for A^T. Of A = P L U: dL = P^T dA U^T below the diagonal, dU = L^T P^T dA
// on and above it.
Values grad(Builder& b, const GradView& op) {
  Values d = op.no_grads();
  if (op.dout(0).is_none()) return d;
  const bool left = op.bool_attr("left"), adjoint = op.bool_attr("adjoint");
  const ValueId g = b.call1("linalg_lu_solve", {op.in(at_lu), op.in(at_pivots), op.dout(0)},
                            {{"left", left}, {"adjoint", !adjoint}});
  if (op.needs(at_known)) d[at_known] = b.sum_to(g, op.in_type(at_known).shape);
  if (!op.needs(at_lu)) return d;
  // What A's gradient is; that of A^T is turned.
  const ValueId x = turned(b, op.out(0));
  const ValueId of_matrix = left ? product(b, g, x) : product(b, x, g);
  const ValueId all = b.neg(b.sum_to(of_matrix, op.in_type(at_lu).shape));
  const ValueId da = adjoint ? turned(b, all) : all;
  const Values parts = b.call("lu_unpack", {op.in(at_lu), op.in(at_pivots)});
  if (parts.empty()) return d;
  const ValueId swapped = product(b, turned(b, parts[0]), da);
  d[at_lu] = b.add(lower_part(b, product(b, swapped, turned(b, parts[2])), -1),
                   upper_part(b, product(b, turned(b, parts[1]), swapped)));
  return d;
}

// Factors whose diagonal is far from 0.
SampleTensor factors(DType t, std::vector<int64_t> shape) {
  const int64_t n = shape.back();
  std::vector<double> values;
  for (int64_t k = 0; k < numel_of(shape); ++k)
    values.push_back((k / n % n == k % n ? 2.0 : 0.0) + static_cast<double>(k * 7 % 11 - 5) / 8);
  return any_of(t, std::move(shape)).with(std::move(values));
}

SampleTensor numbers(std::vector<int64_t> shape, std::vector<double> values) {
  return i32(std::move(shape)).with(std::move(values));
}

SampleAttrs how(bool left, bool adjoint = false) { return {{"left", left}, {"adjoint", adjoint}}; }

Samples samples() {
  Samples out;
  for (const DType t : {DType::f64, DType::f32})
    for (const bool left : {true, false})
      for (const bool adjoint : {false, true})
        out.push_back({{factors(t, {3, 3}), numbers({3}, {3, 2, 3}),
                        any_of(t, left ? std::vector<int64_t>{3, 2} : std::vector<int64_t>{2, 3})},
                       how(left, adjoint)});
  out.insert(
      out.end(),
      {{{factors(DType::f32, {2, 3, 3}), numbers({2, 3}, {2, 3, 3, 3, 2, 3}), f32({2, 3, 1})}},
       {{factors(DType::f64, {2, 1, 2, 2}), numbers({2, 1, 2}, {2, 2, 1, 2}), f64({3, 2, 2})},
        how(true, true)},
       {{factors(DType::f64, {2, 2}), numbers({2}, {2, 2}), f64({3, 2, 2})}, how(false)},
       {{factors(DType::f32, {20, 20}),
         numbers({20}, {20, 5, 3, 8, 9, 6, 7, 8, 9, 10, 11, 20, 13, 15, 15, 16, 17, 19, 20, 20}),
         f32({20, 3})}},
       {{f32({2, 2}).with({2, 1, 0.5, 0}), numbers({2}, {1, 2}), f32({2, 1}).with({1, 3})}},
       {{f32({1, 1}).range(1, 2), numbers({1}, {1}), f32({1, 4})}},
       {{f32({0, 0}), numbers({0}, {1}), f32({0, 2})}},
       {{factors(DType::f32, {2, 2}), numbers({2}, {1, 2}), f32({2, 0})}},
       {{f32({0, 2, 2}), numbers({0, 2}, {1}), f32({2, 3})}}});
  return out;
}

Rejects rejects() {
  const std::string op = "linalg_lu_solve: ";
  const SampleTensor order = numbers({2}, {1, 2});
  return {
      {"C1", {{f16({2, 2}), order, f16({2, 2})}}, op + "C1: LU is f16[2,2], expected f32 or f64"},
      {"C2", {{f32({2, 2}), order, f32({2})}}, op + "C2: B is f32[2], expected at least two dims"},
      {"C3",
       {{f32({2, 3}), order, f32({2, 2})}},
       op + "C3: rows and columns of LU: 2 and 3, expected equal"},
      {"C4",
       {{f32({2, 2}), order, f64({2, 2})}},
       op + "C4: B is f64[2,2], expected the dtype of LU: f32"},
      {"C5", {{f32({2, 2}), i64({2}), f32({2, 2})}}, op + "C5: pivots is i64[2], expected i32"},
      {"C5",
       {{f32({3, 2, 2}), order, f32({2, 2})}},
       op + "C5: pivots and the diagonals of LU: [2] and [3,2], expected equal shapes"},
      {"C6",
       {{f32({2, 2}), order, on_cuda(f32({2, 2}))}},
       op + "C6: LU is f32[2,2] and B is f32[2,2]@cuda:0, expected one device"},
      {"C6",
       {{f32({2, 2}), on_cuda(order), f32({2, 2})}},
       op + "C6: LU is f32[2,2] and pivots is i32[2]@cuda:0, expected one device"},
      {"C7",
       {{f32({2, 2}), order, f32({3, 2})}},
       op + "C7: sizes of LU and columns of B: 2 and 3, expected equal"},
      {"C7",
       {{f32({2, 2}), order, f32({2, 3})}, how(false)},
       op + "C7: sizes of LU and rows of B: 2 and 3, expected equal"},
      {"C8",
       {{f32({2, 2, 2}), numbers({2, 2}, {1, 2, 1, 2}), f32({3, 2, 2})}},
       op + "C8: shapes [2] and [3] don't broadcast: dim -1 is 2 and 3, expected equal sizes "
            "or 1"},
      {"C9",
       {{f32({2, 2}), numbers({2}, {1, 3}), f32({2, 1})}},
       op + "pivots: index 2 is out of range [0, 2)"}};
}

Cost cost(const OpView& op) {
  const int64_t n = op.env().hint_of(columns_of(op.in_type(at_lu)));
  return {2 * n * numel_hint(op, op.out_type(0)), bytes_moved(op)};
}

}  // namespace

CLEAVE_OPS(lu_solve) {
  return {OpDef{
      .name = "linalg_lu_solve",
      .signature = "(Tensor LU, Tensor pivots, Tensor B, *, bool left=True, bool adjoint=False) -> "
                   "Tensor",
      .summary = "Solves systems whose matrix is factored, rows swapped.",
      .source = "aten::linalg_lu_solve, PyTorch 2.13",
      .traits = Trait::recomputable | Trait::data_dependent,
      .infer = infer,
      .reference = reference,
      .decompose = Absent{"a primitive: each row reads those before it"},
      .grad = grad,
      .lower = loop::kernel(lower),
      .cost = cost,
      .samples = samples,
      .rejects = rejects,
  }};
}

}  // namespace cleave
