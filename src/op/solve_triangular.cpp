// Linear systems whose matrix is triangular.
//
// linalg_solve_triangular(self, B; upper, left, unitriangular) -> X
//   self [*s,n,n]   B [*t,n,m]   X [*u,n,m]   self X = B                  *u: *s and *t broadcast
//   not left:       B [*t,m,n]   X [*u,m,n]   X self = B
//
//   (C1) self is f32 or f64  (C2) B has its dtype  (C3) both on one device  (C4) at least two dims
//   (C5) self is square, of B's rows or columns  (C6) *s and *t broadcast
//
// The other triangle isn't read; with unitriangular nor is the diagonal, which is 1. A 0 on the
// diagonal divides. Rows of X are computed one after the other, from one end.
#include "op/broadcast.h"
#include "op/cost.h"
#include "op/dims.h"
#include "op/entry.h"
#include "op/kernel_loops.h"
#include "op/matrices.h"
#include "op/reference_sum.h"
#include "op/sample_sets.h"

namespace cleave {
namespace {

using loop::Expr;
using loop::Exprs;

enum Operand { at_matrix, at_known };

// X self = B is self^T X^T = B^T: the transpose of a lower triangle is an upper one.
bool from_end(const OpView& op) { return op.bool_attr("upper") == op.bool_attr("left"); }

Result<Types> infer(const OpView& op) {
  const Type &a = op.in_type(at_matrix), &b = op.in_type(at_known);
  if (a.dtype != DType::f32 && a.dtype != DType::f64)
    return op.broken("C1", "self is {}, expected f32 or f64", a.text());
  CLEAVE_CHECK(check_same_dtype(op, "C2", at_known, at_matrix));
  CLEAVE_CHECK(common_device(op, "C3", {at_matrix, at_known}));
  if (a.rank() < 2 || b.rank() < 2)
    return op.broken("C4", "self is {} and B is {}, expected at least two dims", a.text(),
                     b.text());
  const auto from_back = [](const Type& t, int d) { return t.shape[t.shape.size() - d]; };
  const int along = op.bool_attr("left") ? 2 : 1;
  CLEAVE_CHECK(check_equal(op, "C5", "rows and columns of self", from_back(a, 2), from_back(a, 1)));
  CLEAVE_CHECK(check_equal(
      op, "C5", along == 2 ? "sizes of self and columns of B" : "sizes of self and rows of B",
      from_back(a, 1), from_back(b, along)));
  CLEAVE_TRY(Shape shape, broadcast_shapes(op, "C6", batch_of(a), batch_of(b)));
  shape.push_back(from_back(b, 2));
  shape.push_back(from_back(b, 1));
  return Types{typed_like(b, b.dtype, std::move(shape))};
}

Result<Arrays> reference(const OpView& op, std::span<const Array* const> in) {
  const Array &a = *in[at_matrix], &b = *in[at_known];
  Array x(b.dtype, static_shape(op.out_type(0)));
  const bool left = op.bool_attr("left"), unit = op.bool_attr("unitriangular"),
             back = op.bool_attr("upper") ? left : !left;
  const int64_t n = a.shape.back(), columns = x.shape.back(),
                m = left ? columns : x.shape[x.shape.size() - 2];
  if (x.numel() == 0) return Arrays{std::move(x)};
  std::vector<int64_t> batch(x.shape.begin(), x.shape.end() - 2), index(batch.size(), 0);
  int64_t at = 0;
  do {
    const auto start = [&](const Array& t) {
      const std::vector<int64_t> own(t.shape.begin(), t.shape.end() - 2);
      return broadcast_position(index, own) * t.shape.back() * t.shape[t.shape.size() - 2];
    };
    const double *matrix = a.f.data() + start(a), *known = b.f.data() + start(b);
    double* y = x.f.data() + at++ * n * m;
    const auto place = [&](int64_t i, int64_t j) {
      return left ? i * columns + j : j * columns + i;
    };
    for (int64_t j = 0; j < m; ++j)
      for (int64_t step = 0; step < n; ++step) {
        const int64_t i = back ? n - 1 - step : step;
        ReferenceSum sum(known[place(i, j)]);
        for (int64_t k = back ? i + 1 : 0; k < (back ? n : i); ++k)
          sum -= (left ? matrix[i * n + k] : matrix[k * n + i]) * y[place(k, j)];
        y[place(i, j)] = unit ? static_cast<double>(sum) : sum / matrix[i * n + i];
      }
  } while (next_index(index, batch));
  return Arrays{std::move(x)};
}

void lower(loop::KernelBuilder& k, const OpView& op) {
  const std::vector<int64_t> shape = k.result(0).layout.shape;
  const bool left = op.bool_attr("left"), unit = op.bool_attr("unitriangular");
  const size_t rank = shape.size(), own = left ? rank - 2 : rank - 1;
  const int64_t n = shape[own];
  std::vector<int64_t> lines = shape;
  lines.erase(lines.begin() + static_cast<std::ptrdiff_t>(own));
  const auto at_step = [&](const Expr& step) {
    return k.let(from_end(op) ? Expr(n - 1) - step : step, "i");
  };
  for_each_element(k, lines, [&](const Exprs& line) {
    const auto place = [&](const Expr& i) {
      Exprs at = line;
      at.insert(at.begin() + static_cast<std::ptrdiff_t>(own), i);
      return at;
    };
    const auto coefficient = [&](const Expr& i, const Expr& j) {
      Exprs at(line.begin(), line.end() - 1);
      at.push_back(left ? i : j);
      at.push_back(left ? j : i);
      return k.load_broadcast(at_matrix, at);
    };
    k.loop(Expr(n), [&](const Expr& step) {
      const Expr i = at_step(step);
      const Expr sum = k.define(k.load_broadcast(at_known, place(i)), "sum");
      k.loop(step, [&](const Expr& before) {
        const Expr j = at_step(before);
        k.assign(sum, sum - coefficient(i, j) * k.load_result(0, place(j)));
      });
      k.store(0, place(i), unit ? sum : sum / coefficient(i, i));
    });
  });
}

// With G = dX solved by the transpose: dB = G, dself = -G X^T, of the triangle that is read.
Values grad(Builder& b, const GradView& op) {
  Values d = op.no_grads();
  if (op.dout(0).is_none()) return d;
  const bool left = op.bool_attr("left"), upper = op.bool_attr("upper"),
             unit = op.bool_attr("unitriangular");
  const ValueId g =
      solve_triangular(b, turned(b, op.in(at_matrix)), op.dout(0), !upper, left, unit);
  if (op.needs(at_known)) d[at_known] = b.sum_to(g, op.in_type(at_known).shape);
  if (!op.needs(at_matrix)) return d;
  const ValueId x = turned(b, op.out(0));
  const ValueId whole = b.neg(left ? product(b, g, x) : product(b, x, g));
  const ValueId all = b.sum_to(whole, op.in_type(at_matrix).shape);
  d[at_matrix] = upper ? upper_part(b, all, unit ? 1 : 0) : lower_part(b, all, unit ? -1 : 0);
  return d;
}

// Matrices whose diagonal is far from 0.
SampleTensor matrix(DType t, std::vector<int64_t> shape) {
  const int64_t n = shape.back();
  int64_t count = 1;
  for (int64_t size : shape) count *= size;
  std::vector<double> values;
  for (int64_t k = 0; k < count; ++k) {
    const bool diagonal = k / n % n == k % n;
    values.push_back((diagonal ? 2.0 : 0.0) + static_cast<double>(k * 7 % 11 - 5) / 8);
  }
  return any_of(t, std::move(shape)).with(std::move(values));
}

SampleAttrs how(bool upper, bool left = true, bool unit = false) {
  return {{"upper", upper}, {"left", left}, {"unitriangular", unit}};
}

Samples samples() {
  Samples out;
  for (DType t : {DType::f64, DType::f32})
    for (bool upper : {false, true})
      for (bool left : {true, false})
        for (bool unit : {false, true})
          out.push_back({{matrix(t, {3, 3}), any_of(t, left ? std::vector<int64_t>{3, 2}
                                                            : std::vector<int64_t>{2, 3})},
                         how(upper, left, unit)});
  out.insert(out.end(), {{{matrix(DType::f32, {2, 4, 4}), f32({2, 4, 1})}, how(true)},
                         {{matrix(DType::f32, {2, 1, 3, 3}), f32({4, 3, 2})}, how(false)},
                         {{matrix(DType::f32, {3, 3}), f32({2, 2, 3})}, how(true, false)},
                         {{matrix(DType::f64, {40, 40}), f64({40, 3})}, how(false)},
                         {{matrix(DType::f32, {1, 1}), f32({1, 5})}, how(true)},
                         {{f32({0, 0}), f32({0, 2})}, how(true)},
                         {{matrix(DType::f32, {2, 2}), f32({2, 0})}, how(false)},
                         {{f32({0, 2, 2}), f32({2, 3})}, how(false)}});
  return out;
}

Rejects rejects() {
  const std::string op = "linalg_solve_triangular: ";
  return {
      {"C1",
       {{f16({2, 2}), f16({2, 2})}, how(true)},
       op + "C1: self is f16[2,2], expected f32 or f64"},
      {"C2",
       {{f32({2, 2}), f64({2, 2})}, how(true)},
       op + "C2: B is f64[2,2], expected the dtype of self: f32"},
      {"C3",
       {{f32({2, 2}), on_cuda(f32({2, 2}))}, how(true)},
       op + "C3: self is f32[2,2] and B is f32[2,2]@cuda:0, expected one device"},
      {"C4",
       {{f32({2, 2}), f32({2})}, how(true)},
       op + "C4: self is f32[2,2] and B is f32[2], expected at least two dims"},
      {"C5",
       {{f32({2, 3}), f32({2, 2})}, how(true)},
       op + "C5: rows and columns of self: 2 and 3, expected equal"},
      {"C5",
       {{f32({2, 2}), f32({3, 2})}, how(true)},
       op + "C5: sizes of self and columns of B: 2 and 3, expected equal"},
      {"C5",
       {{f32({2, 2}), f32({2, 3})}, how(true, false)},
       op + "C5: sizes of self and rows of B: 2 and 3, expected equal"},
      {"C6",
       {{f32({2, 2, 2}), f32({3, 2, 2})}, how(true)},
       op +
           "C6: shapes [2] and [3] don't broadcast: dim -1 is 2 and 3, expected equal sizes or 1"}};
}

Cost cost(const OpView& op) {
  const int64_t n = op.env().hint_of(op.in_type(at_matrix).shape.back());
  return {n * numel_hint(op, op.out_type(0)), bytes_moved(op)};
}

}  // namespace

CLEAVE_OPS(solve_triangular) {
  return {OpDef{
      .name = "linalg_solve_triangular",
      .signature = "(Tensor self, Tensor B, *, bool upper, bool left=True, "
                   "bool unitriangular=False) -> Tensor",
      .summary = "Solves systems whose matrix is triangular.",
      .source = "aten::linalg_solve_triangular, PyTorch 2.13",
      .traits = Trait::recomputable,
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
