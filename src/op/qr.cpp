// Matrices as products of one with orthonormal columns and an upper triangle, by reflections.
//
// linalg_qr(A; mode) -> (Q, R)     A = Q R, Q^T Q = 1      A [*s,m,n], k = min(m,n)
//   mode reduced    Q [*s,m,k]   R [*s,k,n]
//   mode complete   Q [*s,m,m]   R [*s,m,n]
//   mode r          Q [0]        R [*s,k,n]
//
//   (C1) A is f32 or f64  (C2) at least two dims  (C3) mode is one of the three
//
// Step j reflects what is left of column j, x, to beta e, with the signs that LAPACK's geqrf has:
//
//   beta = -sign(x[0]) |x|   v = x with x[0] - beta in the place of x[0], divided by it
//   H = 1 - tau v v^T        tau = (beta - x[0]) / beta
//
// A column with zeros below the diagonal stays as it is. All is kept in f64 until R and Q are
// written. The gradient is there for Q of n columns (m >= n, reduced), and for m <= n; the first
// min(m,n) columns of A are independent then.
#include <cmath>

#include "op/cost.h"
#include "op/dims.h"
#include "op/entry.h"
#include "op/matrices.h"
#include "op/reference_sum.h"
#include "op/sample_sets.h"

namespace cleave {
namespace {

using loop::Expr;
using loop::Exprs;
using loop::Op;

bool has_q(const OpView& op) { return op.str_attr("mode") != "r"; }
bool is_complete(const OpView& op) { return op.str_attr("mode") == "complete"; }

Result<Types> infer(const OpView& op) {
  CLEAVE_CHECK(check_matrices(op, "C1", "C2", 0));
  const std::string& mode = op.str_attr("mode");
  if (mode != "reduced" && mode != "complete" && mode != "r")
    return op.broken("C3", "mode is {}, expected reduced, complete or r", mode);
  const Type& a = op.in_type(0);
  const Dim rows = rows_of(a), kept = is_complete(op) ? rows : diagonal_of(a);
  const Shape q = has_q(op) ? batch_with(a, {rows, kept}) : Shape{Dim(0)};
  return Types{typed_like(a, a.dtype, q),
               typed_like(a, a.dtype, batch_with(a, {kept, columns_of(a)}))};
}

// ---- the oracle
struct Reflections {
  int64_t m, n;
  std::vector<double> a, tau;  // R, and the vectors below its diagonal

  double at(int64_t i, int64_t j) const { return a[i * n + j]; }

  // x of m rows becomes H_j x, column by column.
  void reflect(int64_t j, double* x, int64_t columns, int64_t first) const {
    for (int64_t c = first; c < columns; ++c) {
      ReferenceSum along(x[j * columns + c]);
      for (int64_t i = j + 1; i < m; ++i) along += at(i, j) * x[i * columns + c];
      const double by = tau[j] * along;
      x[j * columns + c] -= by;
      for (int64_t i = j + 1; i < m; ++i) x[i * columns + c] -= by * at(i, j);
    }
  }
};

Reflections reflected(const double* a, int64_t m, int64_t n) {
  Reflections r{.m = m, .n = n, .a = {a, a + m * n}, .tau = {}};
  for (int64_t j = 0; j < std::min(m, n); ++j) {
    ReferenceSum squares;
    for (int64_t i = j + 1; i < m; ++i) squares += r.at(i, j) * r.at(i, j);
    r.tau.push_back(0);
    if (squares == 0) continue;
    const double x = r.at(j, j), size = std::sqrt(squares + x * x), beta = x < 0 ? size : -size;
    r.tau[j] = (beta - x) / beta;
    for (int64_t i = j + 1; i < m; ++i) r.a[i * n + j] /= x - beta;
    r.reflect(j, r.a.data(), n, j + 1);
    r.a[j * n + j] = beta;
  }
  return r;
}

Result<Arrays> reference(const OpView& op, std::span<const Array* const> in) {
  const Array& a = *in[0];
  Array q(a.dtype, static_shape(op.out_type(0))), r(a.dtype, static_shape(op.out_type(1)));
  const int64_t m = a.shape[a.shape.size() - 2], n = a.shape.back(),
                kept = r.shape[r.shape.size() - 2];
  for (int64_t b = 0; b < matrices_in(a); ++b) {
    const Reflections all = reflected(a.f.data() + b * m * n, m, n);
    for (int64_t i = 0; i < kept; ++i)
      for (int64_t j = i; j < n; ++j) r.f[(b * kept + i) * n + j] = all.at(i, j);
    if (!has_q(op)) continue;
    double* y = q.f.data() + b * m * kept;
    for (int64_t i = 0; i < kept; ++i) y[i * kept + i] = 1;
    for (int64_t j = std::min(m, n) - 1; j >= 0; --j) all.reflect(j, y, kept, j);
  }
  return Arrays{std::move(q), std::move(r)};
}

// ---- loops
class ReflectionLoops {
 public:
  ReflectionLoops(loop::KernelBuilder& k, const OpView& op)
      : k_(k), own_(op.in_type(0).dtype), shape_(static_shape(op.in_type(0))),
        batch_(shape_.begin(), shape_.end() - 2), m_(shape_[batch_.size()]), n_(shape_.back()),
        least_(std::min(m_, n_)), kept_(is_complete(op) ? m_ : least_), a_(scratch({m_, n_})),
        tau_(scratch({least_})), line_(scratch({std::max(n_, kept_)})),
        q_(has_q(op) && k.wanted(0) ? scratch({m_, kept_}) : -1) {}

  void write() {
    for_each_matrix(k_, batch_, [&](const Exprs& matrix) {
      matrix_ = matrix;
      k_.loops({m_, n_}, [&](const Exprs& i) {
        store(a_, i[0], i[1], cast(k_.load(0, element(matrix_, i[0], i[1])), DType::f64));
      });
      k_.loop(Expr(least_), [&](const Expr& j) { step(j); });
      k_.loops({kept_, n_}, [&](const Exprs& i) {
        const Expr r = select(binary(Op::ge, i[1], i[0]), loaded(a_, i[0], i[1]), number(0));
        k_.store(1, element(matrix_, i[0], i[1]), cast(r, own_));
      });
      if (q_ < 0) return;
      k_.loops({m_, kept_}, [&](const Exprs& i) {
        store(q_, i[0], i[1], cast(binary(Op::eq, i[0], i[1]), DType::f64));
      });
      k_.loop(Expr(least_), [&](const Expr& back) {
        const Expr j = k_.let(Expr(least_ - 1) - back, "j");
        reflect(j, q_, j, kept_);
      });
      k_.loops({m_, kept_}, [&](const Exprs& i) {
        k_.store(0, element(matrix_, i[0], i[1]), cast(loaded(q_, i[0], i[1]), own_));
      });
    });
  }

 private:
  int scratch(std::vector<int64_t> own) {
    own.insert(own.begin(), batch_.begin(), batch_.end());
    return k_.scratch(DType::f64, own);
  }
  static Expr number(double x) { return loop::constant(DType::f64, x); }
  Expr loaded(int of, const Expr& i, const Expr& j) {
    return k_.load_result(of, element(matrix_, i, j));
  }
  Expr loaded(int of, const Expr& i) { return k_.load_result(of, element(matrix_, i)); }
  void store(int to, const Expr& i, const Expr& j, const Expr& x) {
    k_.store(to, element(matrix_, i, j), x);
  }
  void below(const Expr& j, const std::function<void(const Expr&)>& body) {
    k_.loop(Expr(m_) - j - Expr(1), [&](const Expr& i) { body(k_.let(j + Expr(1) + i, "i")); });
  }

  void step(const Expr& j) {
    const Expr squares = k_.define(number(0), "squares");
    below(j, [&](const Expr& i) {
      const Expr x = k_.let(loaded(a_, i, j), "x");
      k_.assign(squares, squares + x * x);
    });
    k_.store(tau_, element(matrix_, j), number(0));
    k_.if_(binary(Op::ne, squares, number(0)), [&] {
      const Expr x = k_.define(loaded(a_, j, j), "x");
      const Expr size = k_.let(unary(Op::sqrt, squares + x * x), "size");
      const Expr beta = k_.let(select(binary(Op::lt, x, number(0)), size, -size), "beta");
      k_.store(tau_, element(matrix_, j), (beta - x) / beta);
      below(j, [&](const Expr& i) { store(a_, i, j, loaded(a_, i, j) / (x - beta)); });
      reflect(j, a_, j + Expr(1), n_);
      store(a_, j, j, beta);
    });
  }

  // H_j of the columns from `first` on.
  void reflect(const Expr& j, int to, const Expr& first, int64_t columns) {
    const Expr begin = k_.let(first, "begin"), count = k_.let(Expr(columns) - begin, "count");
    const auto each = [&](const std::function<void(const Expr& column, const Exprs& line)>& body) {
      k_.each(count, [&](const Expr& c) { body(begin + c, element(matrix_, c)); });
    };
    each([&](const Expr& c, const Exprs& line) { k_.store(line_, line, loaded(to, j, c)); });
    below(j, [&](const Expr& i) {
      const Expr v = k_.let(loaded(a_, i, j), "v");
      each([&](const Expr& c, const Exprs& line) {
        k_.store(line_, line, k_.load_result(line_, line) + v * loaded(to, i, c));
      });
    });
    const Expr tau = k_.let(loaded(tau_, j), "tau");
    each([&](const Expr& c, const Exprs& line) {
      const Expr by = k_.let(k_.load_result(line_, line) * tau, "by");
      k_.store(line_, line, by);
      store(to, j, c, loaded(to, j, c) - by);
    });
    below(j, [&](const Expr& i) {
      const Expr v = k_.let(loaded(a_, i, j), "v");
      each([&](const Expr& c, const Exprs& line) {
        store(to, i, c, loaded(to, i, c) - v * k_.load_result(line_, line));
      });
    });
  }

  loop::KernelBuilder& k_;
  const DType own_;
  const std::vector<int64_t> shape_, batch_;
  const int64_t m_, n_, least_, kept_;
  const int a_, tau_, line_, q_;
  Exprs matrix_;
};

// ---- gradient
// Of A = Q R with square R: with M = dR R^T - Q^T dQ and S its upper triangle mirrored down,
//   dA = (dQ + Q S) R^-T
ValueId of_square(Builder& b, ValueId q, ValueId r, ValueId dq, ValueId dr) {
  ValueId m;
  if (dr.valid()) m = product(b, upper_part(b, dr), turned(b, r));
  if (dq.valid()) {
    const ValueId inner = product(b, turned(b, q), dq);
    m = m.valid() ? b.sub(m, inner) : b.neg(inner);
  }
  const ValueId mirrored = b.add(upper_part(b, m), turned(b, upper_part(b, m, 1)));
  const ValueId along = product(b, q, mirrored);
  return solve_triangular(b, turned(b, r), dq.valid() ? b.add(dq, along) : along, false, false);
}

// A = [X Y], R = [U V]: X = Q U, Y = Q V.
Values of_wide(Builder& b, const GradView& op) {
  const Type& a = op.in_type(0);
  const Dim m = rows_of(a), n = columns_of(a);
  const auto part = [&](ValueId v, const Dim& from, const Dim& to) {
    return v.valid() ? b.slice(v, -1, from, to) : v;
  };
  const ValueId q = op.out(0), u = part(op.out(1), Dim(0), m), du = part(op.dout(1), Dim(0), m),
                dv = part(op.dout(1), m, n);
  ValueId dq = op.dout(0);
  if (dv.valid()) {
    const ValueId y = product(b, part(op.in(0), m, n), turned(b, dv));
    dq = dq.valid() ? b.add(dq, y) : y;
  }
  const ValueId rest =
      dv.valid() ? product(b, q, dv) : b.full(batch_with(a, {m, n - m}), 0.0, a.dtype);
  return {b.cat({of_square(b, q, u, dq, du), rest}, -1)};
}

Values grad(Builder& b, const GradView& op) {
  if (op.dout(0).is_none() && op.dout(1).is_none()) return op.no_grads();
  const Type& a = op.in_type(0);
  const auto no_fewer = [&](const Dim& x, const Dim& y) {
    return op.env().range_of(x - y).lo >= 0;
  };
  const bool is_tall = no_fewer(rows_of(a), columns_of(a)),
             is_flat = no_fewer(columns_of(a), rows_of(a));
  if (!has_q(op) || (is_complete(op) && !is_flat) || (!is_tall && !is_flat)) {
    b.fail({ErrorKind::unsupported,
            fmt::format("of mode {} and {} there is none", op.str_attr("mode"), a.text())});
    return op.no_grads();
  }
  if (!is_tall) return of_wide(b, op);
  return {of_square(b, op.out(0), op.out(1), op.dout(0), op.dout(1))};
}

// Of independent columns.
SampleTensor matrix(DType t, std::vector<int64_t> shape) {
  const int64_t n = shape.back(), m = shape[shape.size() - 2];
  std::vector<double> values;
  for (int64_t k = 0; k < numel_of(shape); ++k)
    values.push_back((k / n % m == k % n ? 2.0 : 0.0) + std::sin(static_cast<double>(3 * k + 1)));
  return any_of(t, std::move(shape)).with(std::move(values));
}

Samples samples() {
  const SampleAttrs complete{{"mode", "complete"}}, r{{"mode", "r"}};
  return {{{matrix(DType::f64, {3, 3})}},
          {{matrix(DType::f64, {4, 2})}},
          {{matrix(DType::f64, {2, 4})}},
          {{matrix(DType::f64, {3, 4})}, complete},
          {{matrix(DType::f32, {3, 3})}},
          {{matrix(DType::f32, {2, 5, 3})}},
          {{matrix(DType::f32, {2, 2, 2, 3})}},
          {{matrix(DType::f32, {4, 2}).with({1, 2, NAN, 4, 5, 6, 7, 8})}, complete},
          {{matrix(DType::f32, {2, 4}).with({1, 2, NAN, 4, 5, 6, 7, 8})}, r},
          // zeros, one alone, a triangle already, and what isn't compared with differences
          {{f64({4, 2, 2}).with({0, 0, 0, 0, 0, 0, 0, 3, 1, 2, 0, -3, NAN, 1, 2, 3})}},
          {{matrix(DType::f32, {20, 12})}},
          {{f32({1, 1}).with({-2})}},
          {{f32({0, 0})}},
          {{f32({3, 0})}},
          {{f32({0, 3})}},
          {{f32({0, 2, 2})}}};
}

Rejects rejects() {
  const std::string op = "linalg_qr: ";
  return {{"C1", {{f16({2, 2})}}, op + "C1: A is f16[2,2], expected f32 or f64"},
          {"C2", {{f32({2})}}, op + "C2: A is f32[2], expected at least two dims"},
          {"C3",
           {{f32({2, 2})}, {{"mode", "full"}}},
           op + "C3: mode is full, expected reduced, complete or r"}};
}

Cost cost(const OpView& op) {
  const int64_t n = op.env().hint_of(columns_of(op.in_type(0)));
  return {4 * n * numel_hint(op, op.in_type(0)), bytes_moved(op)};
}

}  // namespace

CLEAVE_OPS(qr) {
  return {OpDef{
      .name = "linalg_qr",
      .signature = "(Tensor A, str mode='reduced') -> (Tensor, Tensor)",
      .summary = "Matrices as products of orthonormal columns and an upper triangle.",
      .source = "aten::linalg_qr, PyTorch 2.13",
      .traits = Trait::compute_intensive | Trait::recomputable,
      .infer = infer,
      .reference = reference,
      .decompose = Absent{"a primitive: each reflection reads those before it"},
      .grad = grad,
      .lower = loop::kernel(
          [](loop::KernelBuilder& k, const OpView& op) { ReflectionLoops(k, op).write(); }),
      .cost = cost,
      .samples = samples,
      .rejects = rejects,
  }};
}

}  // namespace cleave
