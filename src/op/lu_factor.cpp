// Matrices as products of a lower and an upper triangle, with rows swapped.
//
// linalg_lu_factor_ex(A; pivot, check_errors) -> (LU, pivots, info)      A = P L U
//   A [*s,m,n]   LU [*s,m,n]   pivots i32[*s,min(m,n)]   info i32[*s]
//   LU holds U on and above the diagonal, and below it L, whose diagonal is 1
//
//   (C1) A is f32 or f64  (C2) at least two dims  (C3) check_errors is false
//
// Step k takes the row from k on with the largest |x| in column k, the first of equal ones (NaN is
// never larger), and swaps it with row k: pivots[k] is its number, counted from 1. Without `pivot`
// it is k + 1. Where that element is 0, column k of L stays as it is; info is k + 1 for the first
// such k, else 0. Sums are kept in f64, and each element is rounded once.
#include "op/cost.h"
#include "op/dims.h"
#include "op/entry.h"
#include "op/matrices.h"
#include "op/reference_elimination.h"
#include "op/sample_sets.h"

namespace cleave {
namespace {

using loop::Expr;
using loop::Exprs;
using loop::Op;

Result<Types> infer(const OpView& op) {
  CLEAVE_CHECK(check_matrices(op, "C1", "C2", 0));
  CLEAVE_CHECK(check_reports_alone(op, "C3"));
  const Type& a = op.in_type(0);
  return Types{typed_like(a, a.dtype, a.shape),
               typed_like(a, DType::i32, batch_with(a, {diagonal_of(a)})),
               typed_like(a, DType::i32, batch_of(a))};
}

Result<Arrays> reference(const OpView& op, std::span<const Array* const> in) {
  Array lu = *in[0];
  const int64_t m = lu.shape[lu.shape.size() - 2], n = lu.shape.back(), least = std::min(m, n);
  std::vector<int64_t> shape(lu.shape.begin(), lu.shape.end() - 2);
  Array info(DType::i32, shape);
  shape.push_back(least);
  Array pivots(DType::i32, shape);
  for (int64_t b = 0; b < matrices_in(lu); ++b)
    info.i[b] = eliminate(lu.f.data() + b * m * n, pivots.i.data() + b * least, m, n,
                          op.bool_attr("pivot"));
  return Arrays{std::move(lu), std::move(pivots), std::move(info)};
}

// Column k and then row k, each from sums over what is to the left of it and above (Crout).
class FactorLoops {
 public:
  FactorLoops(loop::KernelBuilder& k, const OpView& op)
      : k_(k), own_(op.in_type(0).dtype), shape_(static_shape(op.in_type(0))),
        batch_(shape_.begin(), shape_.end() - 2), rows_(shape_[batch_.size()]),
        columns_(shape_.back()), pivot_(op.bool_attr("pivot")),
        lu_(k.wanted(0) ? 0 : k.scratch(own_, shape_)) {
    std::vector<int64_t> line = batch_;
    line.push_back(std::max(rows_, columns_));
    line_ = k.scratch(DType::f64, line);
  }

  void write() {
    for_each_matrix(k_, batch_, [&](const Exprs& matrix) {
      matrix_ = matrix;
      k_.loops({rows_, columns_}, [&](const Exprs& i) {
        const Exprs at = element(matrix_, i[0], i[1]);
        k_.store(lu_, at, k_.load(0, at));
      });
      const Expr info = k_.define(Expr(0), "info");
      k_.loop(Expr(std::min(rows_, columns_)), [&](const Expr& step) {
        column(step);
        row(step);
        divide(step, info);
      });
      k_.store(2, matrix_, cast(info, DType::i32));
    });
  }

 private:
  Expr stored(const Expr& i, const Expr& j) { return k_.load_result(lu_, element(matrix_, i, j)); }
  Expr wide(const Expr& i, const Expr& j) { return cast(stored(i, j), DType::f64); }
  Expr line(const Expr& i) { return k_.load_result(line_, element(matrix_, i)); }
  void set(const Expr& i, const Expr& j, const Expr& x) {
    k_.store(lu_, element(matrix_, i, j), x);
  }

  // What is left of column `step`, and its largest element in row `step`.
  void column(const Expr& step) {
    k_.loop(step, [&](const Expr& t) { k_.store(line_, element(matrix_, t), wide(t, step)); });
    const Expr most = k_.define(loop::constant(own_, 0), "most");
    const Expr at = k_.define(step, "at");
    k_.loop(Expr(rows_) - step, [&](const Expr& below) {
      const Expr i = k_.let(step + below, "i");
      const Expr sum = k_.reduce_loops(loop::ReduceOp::sum, step, {},
                                       [&](const Exprs& t) { return wide(i, t[0]) * line(t[0]); });
      set(i, step, cast(k_.let(wide(i, step) - sum), own_));
      if (!pivot_) return;
      // The first one counts whatever it is: nothing is larger than NaN.
      const Expr size = k_.let(unary(Op::abs, stored(i, step)), "size");
      k_.if_(binary(Op::logical_or, binary(Op::eq, below, Expr(0)), binary(Op::gt, size, most)),
             [&] {
               k_.assign(most, size);
               k_.assign(at, i);
             });
    });
    k_.store(1, element(matrix_, step), cast(at + Expr(1), DType::i32));
    if (!pivot_) return;
    k_.if_(binary(Op::ne, at, step), [&] {
      k_.loop(Expr(columns_), [&](const Expr& j) {
        const Expr kept = k_.define(stored(step, j), "kept");
        set(step, j, stored(at, j));
        set(at, j, kept);
      });
    });
  }

  // What is left of row `step` to the right of the diagonal.
  void row(const Expr& step) {
    const Expr first = k_.let(step + Expr(1), "first");
    const Expr count = k_.let(Expr(columns_) - first, "count");
    k_.each(count,
            [&](const Expr& j) { k_.store(line_, element(matrix_, j), wide(step, first + j)); });
    k_.loop(step, [&](const Expr& t) {
      const Expr factor = k_.let(wide(step, t), "factor");
      k_.each(count, [&](const Expr& j) {
        k_.store(line_, element(matrix_, j), line(j) - factor * wide(t, first + j));
      });
    });
    k_.each(count, [&](const Expr& j) { set(step, first + j, cast(line(j), own_)); });
  }

  void divide(const Expr& step, const Expr& info) {
    const Expr by = k_.let(stored(step, step), "by");
    const Expr is_zero = k_.let(binary(Op::eq, by, loop::constant(own_, 0)), "is_zero");
    k_.assign(info, select(binary(Op::logical_and, is_zero, binary(Op::eq, info, Expr(0))),
                           step + Expr(1), info));
    k_.if_(unary(Op::logical_not, is_zero), [&] {
      k_.loop(Expr(rows_) - step - Expr(1), [&](const Expr& below) {
        const Expr i = k_.let(step + Expr(1) + below, "i");
        set(i, step, stored(i, step) / by);
      });
    });
  }

  loop::KernelBuilder& k_;
  const DType own_;
  const std::vector<int64_t> shape_, batch_;
  const int64_t rows_, columns_;
  const bool pivot_;
  const int lu_;
  int line_ = 0;
  Exprs matrix_;
};

// Of A = P L U with square triangles:
//   dA = P L^-T (tril(L^T dL, -1) + triu(dU U^T)) U^-T
// Of more columns, U = [U V]: V's part is P L^-T dV, and dV V^T is taken from L^T dL. Of more rows,
// L over M: M's part is dM U^-T, and M^T dM is taken from dU U^T.
Values grad(Builder& b, const GradView& op) {
  const Type& a = op.in_type(0);
  if (op.dout(0).is_none()) return op.no_grads();
  const Dim k = diagonal_of(a);
  const auto is_zero = [&](const Dim& d) { return op.env().provably_equal(d, Dim(0)); };
  const Dim more_rows = rows_of(a) - k, more_columns = columns_of(a) - k;
  if (!is_zero(more_rows) && !is_zero(more_columns)) {
    b.fail(
        {ErrorKind::unsupported, fmt::format("{} may have more rows or more columns", a.text())});
    return op.no_grads();
  }
  const Values parts = b.call("lu_unpack", {op.out(0), op.out(1)});
  if (parts.empty()) return op.no_grads();
  const auto cut = [&](ValueId v, int64_t dim, bool rest) {
    const Dim end = dim == -1 ? columns_of(b.type(v)) : rows_of(b.type(v));
    return rest ? b.slice(v, dim, k, end) : b.slice(v, dim, Dim(0), k);
  };
  const ValueId d = op.dout(0), first = cut(cut(d, -1, false), -2, false);
  const ValueId lt = turned(b, cut(parts[1], -2, false)), ut = turned(b, cut(parts[2], -1, false));
  ValueId of_l = product(b, lt, lower_part(b, first, -1));
  ValueId of_u = product(b, upper_part(b, first), ut);
  ValueId below, right;
  if (!is_zero(more_columns)) {
    right = cut(d, -1, true);
    of_l = b.sub(of_l, product(b, right, turned(b, cut(parts[2], -1, true))));
  }
  if (!is_zero(more_rows)) {
    below = cut(d, -2, true);
    of_u = b.sub(of_u, product(b, turned(b, cut(parts[1], -2, true)), below));
  }
  const ValueId inner = b.add(lower_part(b, of_l, -1), upper_part(b, of_u));
  const auto by_l = [&](ValueId v) { return solve_triangular(b, lt, v, true, true, true); };
  const auto by_u = [&](ValueId v) { return solve_triangular(b, ut, v, false, false); };
  ValueId all = by_l(by_u(inner));
  if (right.valid()) all = b.cat({all, by_l(right)}, -1);
  if (below.valid()) all = b.cat({all, by_u(below)}, -2);
  return {product(b, parts[0], all)};
}

Samples samples() {
  Samples out;
  for (const DType t : {DType::f64, DType::f32})
    for (const bool pivot : {true, false}) {
      const SampleAttrs how{{"pivot", pivot}};
      out.push_back({{any_of(t, {2, 2}).with({2, 1, -1, 3})}, how});
      out.push_back({{any_of(t, {3, 3}).with({1, 4, 2, 5, 1, 3, -2, 1, 4})}, how});
      // a column of zeros, a column that is twice another, zeros alone, equal sizes, NaN
      out.push_back({{any_of(t, {6, 3, 3}).with({0,   1, 2, 0,   3, 4, 0, 5, 7,  //
                                                 1,   2, 3, 4,   8, 1, 2, 4, 4,  //
                                                 0,   0, 0, 0,   0, 0, 0, 0, 0,  //
                                                 2,   1, 1, -2,  4, 1, 2, 3, 1,  //
                                                 NAN, 1, 2, 3,   4, 5, 6, 7, 9,  //
                                                 1,   2, 3, NAN, 4, 5, 6, 7, 9})},
                     how});
    }
  out.insert(out.end(), {{{matrices_to_swap(DType::f64, {5, 5})}},
                         {{matrices_to_swap(DType::f32, {2, 3, 4, 4})}},
                         {{matrices_to_swap(DType::f32, {2, 5, 3})}},
                         {{matrices_to_swap(DType::f64, {3, 5})}},
                         {{matrices_to_swap(DType::f32, {24, 24})}},
                         {{f32({1, 1}).range(1, 2)}},
                         {{f32({0, 0})}},
                         {{f32({2, 0, 3})}},
                         {{f32({3, 0})}},
                         {{f32({0, 2, 2})}}});
  return out;
}

Rejects rejects() {
  const std::string op = "linalg_lu_factor_ex: ";
  return {{"C1", {{f16({2, 2})}}, op + "C1: A is f16[2,2], expected f32 or f64"},
          {"C2", {{f32({2})}}, op + "C2: A is f32[2], expected at least two dims"},
          {"C3",
           {{f32({2, 2})}, {{"check_errors", true}}},
           op + "C3: check_errors is true; check info, as by _functional_assert_async"}};
}

Cost cost(const OpView& op) {
  const int64_t n = op.env().hint_of(columns_of(op.in_type(0)));
  return {n * numel_hint(op, op.in_type(0)), bytes_moved(op)};
}

}  // namespace

CLEAVE_OPS(lu_factor) {
  return {OpDef{
      .name = "linalg_lu_factor_ex",
      .signature = "(Tensor A, *, bool pivot=True, bool check_errors=False) -> "
                   "(Tensor, Tensor, Tensor)",
      .summary = "Matrices as products of two triangles, with rows swapped.",
      .source = "aten::linalg_lu_factor_ex, PyTorch 2.13",
      .traits = Trait::compute_intensive | Trait::recomputable,
      .infer = infer,
      .reference = reference,
      .decompose = Absent{"a primitive: each step reads those before it"},
      .grad = grad,
      .lower = loop::kernel(
          [](loop::KernelBuilder& k, const OpView& op) { FactorLoops(k, op).write(); }),
      .cost = cost,
      .samples = samples,
      .rejects = rejects,
      .nondifferentiable = 0b110,
  }};
}

}  // namespace cleave
