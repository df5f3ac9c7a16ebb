// Distances of rows: the norms of their differences.
//
// _cdist_forward(x1, x2; p, compute_mode) -> y      x1 [*b,n,d], x2 [*c,m,d]; y [*bc,n,m], where
//   *bc is *b and *c broadcast                      y[..., i, j] = |x1[..., i] - x2[..., j]|
//   (C1) x1 is floating  (C2) x2 has its dtype  (C3) both on one device  (C4) at least two dims
//   (C5) one size d  (C6) *b and *c broadcast  (C7) p >= 0
// _pdist_forward(self; p) -> y                      self [n,d]; y [n (n - 1) / 2]: row 0 with rows
//   1, 2, ..., then row 1 with rows 2, 3, ...
//   (C1) self is floating  (C2) two dims  (C3) p >= 0  (C4) n is known, and at most 4096
//
// p is the order of the norm, as in linalg_vector_norm; compute_mode says how ATen computes it, and
// isn't followed: differences are summed, whatever n is, so that near rows keep their digits. A
// distance of 0 has the gradient 0.
#include <cmath>

#include "op/broadcast.h"
#include "op/cost.h"
#include "op/dims.h"
#include "op/entry.h"
#include "op/grad_of_parts.h"
#include "op/reference_sum.h"
#include "op/sample_sets.h"
#include "op/wide_grad.h"

namespace cleave {
namespace {

constexpr int64_t most_rows = 1 << 12;

Shape batch_of(const Type& x) { return {x.shape.begin(), x.shape.end() - 2}; }

Status check_order(const OpView& op, std::string_view rule) {
  const double p = op.float_attr("p");
  if (p >= 0) return {};
  return op.broken(rule, "p is {}, expected at least 0", p);
}

Result<Types> infer_cdist(const OpView& op) {
  const Type &a = op.in_type(0), &b = op.in_type(1);
  CLEAVE_CHECK(check_floating(op, "C1", 0));
  CLEAVE_CHECK(check_same_dtype(op, "C2", 1, 0));
  CLEAVE_CHECK(common_device(op, "C3", {0, 1}));
  if (a.rank() < 2 || b.rank() < 2)
    return op.broken("C4", "x1 is {} and x2 is {}, expected at least two dims", a.text(), b.text());
  CLEAVE_CHECK(check_equal(op, "C5", "sizes of the last dim", a.shape.back(), b.shape.back()));
  CLEAVE_TRY(Shape shape, broadcast_shapes(op, "C6", batch_of(a), batch_of(b)));
  CLEAVE_CHECK(check_order(op, "C7"));
  shape.push_back(a.shape[a.shape.size() - 2]);
  shape.push_back(b.shape[b.shape.size() - 2]);
  return Types{typed_like(a, a.dtype, std::move(shape))};
}

Result<Types> infer_pdist(const OpView& op) {
  const Type& x = op.in_type(0);
  CLEAVE_CHECK(check_floating(op, "C1", 0));
  if (x.rank() != 2) return op.broken("C2", "self is {}, expected two dims", x.text());
  CLEAVE_CHECK(check_order(op, "C3"));
  const Dim n = x.shape[0];
  if (!n.is_const() || n.value() > most_rows)
    return op.broken("C4", "self is {}, expected at most {} rows, a number that is known", x.text(),
                     most_rows);
  return Types{typed_like(x, x.dtype, {Dim(n.value() * (n.value() - 1) / 2)})};
}

double distance(const double* a, const double* b, int64_t d, double p) {
  double most = 0;
  ReferenceSum sum;
  for (int64_t k = 0; k < d; ++k) {
    const double apart = std::fabs(a[k] - b[k]);
    most = std::isnan(apart) || std::isnan(most) ? NAN : std::max(most, apart);
    sum += p == 0 ? static_cast<double>(apart != 0) : std::isinf(p) ? 0 : std::pow(apart, p);
  }
  if (std::isinf(p)) return most;
  return p == 0 ? static_cast<double>(sum) : std::pow(sum, 1 / p);
}

// The element of a batch at which the result's batch `at`, of `shape`, reads an operand.
int64_t batch_at(int64_t at, const std::vector<int64_t>& shape, const Array& x) {
  const size_t rank = x.shape.size() - 2;
  int64_t from = 0, step = 1;
  for (size_t k = 0; k < shape.size(); ++k) {
    const size_t d = shape.size() - 1 - k;
    const int64_t i = at % shape[d];
    at /= shape[d];
    if (k >= rank) continue;
    const int64_t size = x.shape[rank - 1 - k];
    from += (size == 1 ? 0 : i) * step;
    step *= size;
  }
  return from;
}

Result<Arrays> reference_cdist(const OpView& op, std::span<const Array* const> in) {
  const Array &a = *in[0], &b = *in[1];
  Array y(a.dtype, static_shape(op.out_type(0)));
  const int64_t n = y.shape[y.shape.size() - 2], m = y.shape.back(), d = a.shape.back();
  const std::vector<int64_t> batch(y.shape.begin(), y.shape.end() - 2);
  for (int64_t k = 0; k < y.numel(); ++k) {
    const int64_t at = k / (n * m), i = k / m % n, j = k % m;
    const double* row = a.f.data() + (batch_at(at, batch, a) * n + i) * d;
    const double* other = b.f.data() + (batch_at(at, batch, b) * m + j) * d;
    y.f[k] = distance(row, other, d, op.float_attr("p"));
  }
  return Arrays{std::move(y)};
}

Result<Arrays> reference_pdist(const OpView& op, std::span<const Array* const> in) {
  const Array& x = *in[0];
  Array y(x.dtype, static_shape(op.out_type(0)));
  const int64_t n = x.shape[0], d = x.shape[1];
  int64_t k = 0;
  for (int64_t i = 0; i < n; ++i)
    for (int64_t j = i + 1; j < n; ++j)
      y.f[k++] = distance(x.f.data() + i * d, x.f.data() + j * d, d, op.float_attr("p"));
  return Arrays{std::move(y)};
}

ValueId norms(Builder& b, const OpView& op, ValueId apart) {
  const NamedAttrs attrs = {{"ord", op.float_attr("p")}, {"dim", std::vector<int64_t>{-1}}};
  return b.convert(b.call1("linalg_vector_norm", {apart}, attrs), op.in_type(0).dtype);
}

Values decompose_cdist(Builder& b, const OpView& op) {
  const DType t = wide(op.in_type(0).dtype);
  const ValueId x1 = b.unsqueeze(b.convert(op.in(0), t), -2);
  const ValueId x2 = b.unsqueeze(b.convert(op.in(1), t), -3);
  return {norms(b, op, b.sub(x1, x2))};
}

Values decompose_pdist(Builder& b, const OpView& op) {
  const Type& type = op.in_type(0);
  const int64_t n = type.shape[0].value();
  if (n < 2) return {b.full({Dim(0)}, 0.0, type.dtype)};
  const ValueId x = b.convert(op.in(0), wide(type.dtype));
  Values apart;
  for (int64_t k = 0; k + 1 < n; ++k)
    apart.push_back(b.sub(b.slice(x, 0, k, k + 1), b.slice(x, 0, k + 1, n)));
  return {norms(b, op, n == 2 ? apart[0] : b.cat(apart, 0))};
}

Cost cost_of_distances(const OpView& op) {
  const Type& x = op.in_type(0);
  const int64_t pairs = numel_hint(op, op.out_type(0));
  return {3 * pairs * std::max<int64_t>(1, op.env().hint_of(x.shape.back())), bytes_moved(op)};
}

OpDef cdist_forward() {
  return OpDef{
      .name = "_cdist_forward",
      .signature = "(Tensor x1, Tensor x2, float p, int? compute_mode=None) -> Tensor",
      .summary = "The distances of each row to each row of another matrix.",
      .source = "aten::_cdist_forward, PyTorch 2.13",
      .traits = Trait::recomputable,
      .infer = infer_cdist,
      .reference = reference_cdist,
      .decompose = decompose_cdist,
      .grad = grad_of_parts(decompose_cdist),
      .lower = loop::by_decomposition(),
      .cost = cost_of_distances,
      .samples =
          [] {
            Samples out;
            for (DType t : floating_dtypes)
              out.push_back({{any_of(t, {3, 4}), any_of(t, {5, 4})}, {{"p", 2.0}}});
            // Rows of x1 and x2 apart in each element, where small orders have a kink.
            const auto far = [](std::vector<int64_t> shape) {
              return f32(std::move(shape)).range(3, 5);
            };
            for (double p : {0.0, 0.5, 1.0, 2.0, 2.5, static_cast<double>(INFINITY)})
              out.push_back({{f32({3, 2}), far({4, 2})}, {{"p", p}}});
            out.insert(
                out.end(),
                {{{f32({2, 3, 4}), far({2, 1, 4})}, {{"p", 2.0}, {"compute_mode", 1}}},
                 {{f32({2, 1, 3, 2}), far({3, 4, 2})}, {{"p", 1.0}}},
                 {{f32({3, 2}), far({2, 2, 2})}, {{"p", 3.0}}},
                 {{f32({2, 0}), f32({3, 0})}, {{"p", 2.0}}},
                 {{f32({0, 2}), f32({3, 2})}, {{"p", 2.0}}},
                 {{f32({2, 2}).with({1, 2, 3, 4}), f32({2, 2}).with({3, 4, 5, 6})}, {{"p", 2.0}}}});
            return out;
          },
      .rejects = []() -> Rejects {
        return {{"C1",
                 {{i64({2, 2}), i64({2, 2})}, {{"p", 2.0}}},
                 "_cdist_forward: C1: x1 is i64[2,2], expected a floating dtype"},
                {"C2",
                 {{f32({2, 2}), f64({2, 2})}, {{"p", 2.0}}},
                 "_cdist_forward: C2: x2 is f64[2,2], expected the dtype of x1: f32"},
                {"C3",
                 {{f32({2, 2}), on_cuda(f32({2, 2}))}, {{"p", 2.0}}},
                 "_cdist_forward: C3: x1 is f32[2,2] and x2 is f32[2,2]@cuda:0, expected one "
                 "device"},
                {"C4",
                 {{f32({2}), f32({2, 2})}, {{"p", 2.0}}},
                 "_cdist_forward: C4: x1 is f32[2] and x2 is f32[2,2], expected at least two dims"},
                {"C5",
                 {{f32({2, 3}), f32({2, 2})}, {{"p", 2.0}}},
                 "_cdist_forward: C5: sizes of the last dim: 3 and 2, expected equal"},
                {"C6",
                 {{f32({2, 2, 2}), f32({3, 2, 2})}, {{"p", 2.0}}},
                 "_cdist_forward: C6: shapes [2] and [3] don't broadcast: dim -1 is 2 and 3, "
                 "expected equal sizes or 1"},
                {"C7",
                 {{f32({2, 2}), f32({2, 2})}, {{"p", -1.0}}},
                 "_cdist_forward: C7: p is -1, expected at least 0"}};
      },
  };
}

OpDef pdist_forward() {
  return OpDef{
      .name = "_pdist_forward",
      .signature = "(Tensor self, float p=2) -> Tensor",
      .summary = "The distances of the rows of a matrix two by two.",
      .source = "aten::_pdist_forward, PyTorch 2.13",
      .traits = Trait::recomputable,
      .infer = infer_pdist,
      .reference = reference_pdist,
      .decompose = decompose_pdist,
      .grad = grad_of_parts(decompose_pdist),
      .lower = loop::by_decomposition(),
      .cost = cost_of_distances,
      .samples =
          [] {
            Samples out = over_dtypes(floating_dtypes, {4, 3});
            const auto rows = f32({3, 2}).with({1, 5, 2.5, -1, -3, 2});
            for (double p : {0.0, 0.5, 1.0, 2.5, static_cast<double>(INFINITY)})
              out.push_back({{rows}, {{"p", p}}});
            out.insert(out.end(),
                       {{{f32({0, 3})}}, {{f32({1, 3})}}, {{f32({2, 3})}}, {{f32({3, 0})}}});
            return out;
          },
      .rejects = []() -> Rejects {
        return {{"C1",
                 {{i64({2, 2})}},
                 "_pdist_forward: C1: self is i64[2,2], expected a floating dtype"},
                {"C2", {{f32({2})}}, "_pdist_forward: C2: self is f32[2], expected two dims"},
                {"C3",
                 {{f32({2, 2})}, {{"p", -2.0}}},
                 "_pdist_forward: C3: p is -2, expected at least 0"},
                {"C4",
                 {{f32({5000, 1})}},
                 "_pdist_forward: C4: self is f32[5000,1], expected at most 4096 rows, a number "
                 "that is known"}};
      },
  };
}

}  // namespace

CLEAVE_OPS(distance) { return {cdist_forward(), pdist_forward()}; }

}  // namespace cleave
