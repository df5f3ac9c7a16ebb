#include "op/fourier_transform.h"

#include <cmath>
#include <map>
#include <numbers>

namespace cleave::fourier {
namespace {

using V = ValueId;
using Ints = std::vector<int64_t>;

constexpr int64_t whole = 64;          // lengths that are one product
constexpr int64_t whole_prime = 256;   // prime lengths that are one product
constexpr int64_t cost_of_stage = 48;  // of taking a length apart, in columns of a product
constexpr double turn = 2 * std::numbers::pi;

// ---- numbers

int64_t smallest_factor(int64_t n) {
  for (int64_t d = 2; d * d <= n; ++d)
    if (n % d == 0) return d;
  return n;
}

// The work for one element of a length that small factors make up, and the factor to begin with.
struct Plan {
  int64_t first = 1, cost = 0;
};
Plan planned(int64_t n, std::map<int64_t, Plan>& known) {
  if (const auto at = known.find(n); at != known.end()) return at->second;
  Plan best{n, n};
  for (int64_t a = 2; n > whole && a <= whole; ++a) {
    if (n % a != 0) continue;
    const int64_t cost = a + cost_of_stage + planned(n / a, known).cost;
    if (cost < best.cost) best = {a, cost};
  }
  return known[n] = best;
}

// The length to begin with; n: it isn't taken apart.
int64_t first_factor(int64_t n) {
  if (n <= whole) return n;
  std::map<int64_t, Plan> known;
  const Plan plan = planned(n, known);
  return plan.first < n ? plan.first : smallest_factor(n);
}

// The least length from `least` on whose factors are 2, 3 and 5.
int64_t smooth_length(int64_t least) {
  for (int64_t n = least;; ++n) {
    int64_t rest = n;
    for (const int64_t p : {2, 3, 5})
      while (rest % p == 0) rest /= p;
    if (rest == 1) return n;
  }
}

// ---- calls

V select(Builder& b, V x, int64_t index) {
  return b.call1("select", {x}, {{"dim", -1}, {"index", index}});
}
V stack(Builder& b, const Values& parts, int64_t dim) {
  return b.call1("stack", {CallOperand(parts)}, {{"dim", dim}});
}
V flip(Builder& b, V x, int64_t dim) { return b.call1("flip", {x}, {{"dims", Ints{dim}}}); }
V range(Builder& b, int64_t n) {
  return b.call1("arange", {}, {{"end", n}, {"dtype", DType::i64}});
}
V integer(Builder& b, const char* op, V x, int64_t y) { return b.call1(op, {x, AttrValue(y)}); }
V pad_rows(Builder& b, V x, int64_t before, int64_t after) {
  return b.call1("constant_pad_nd", {x}, {{"pad", Ints{0, 0, before, after}}});
}
V placed(Builder& b, V table, V like) {
  if (!b.status().ok()) return V::none();
  return b.move(b.convert(table, b.type(like).dtype), b.type(like).device);
}
Dim rows_of(Builder& b, V x) { return b.status().ok() ? b.type(x).shape[0] : Dim(1); }
V ones(Builder& b, int64_t n) { return b.full({Dim(n)}, 1.0, DType::f64); }

// angle(j k) of 2 pi j k / period for j < n, k < count: products are reduced first.
V angles(Builder& b, int64_t n, int64_t count, int64_t period) {
  const V jk = b.mul(b.unsqueeze(range(b, n), 1), range(b, count));
  return b.mul(b.convert(integer(b, "remainder", jk, period), DType::f64),
               turn / static_cast<double>(period));
}

// [n,2,count,2]: what the real and the imaginary part of row j add to both parts of result k.
V table(Builder& b, V angle, int sign, double scale) {
  const V cosine = b.mul(b.cos(angle), scale), sine = b.mul(b.sin(angle), sign * scale);
  return stack(b, {stack(b, {cosine, sine}, -1), stack(b, {b.neg(sine), cosine}, -1)}, 1);
}

V conjugate(Builder& b, V x) {
  const V sign = b.add(b.mul(range(b, 2), -2), 1);  // [1, -1]
  return b.mul(x, placed(b, sign, x));
}

// Pairs x [*,m,2] times (cos angle, sin angle), which broadcast as [m] or [l,m].
V turned(Builder& b, V x, V cosine, V sine) {
  const V along = placed(b, b.unsqueeze(cosine, -1), x);
  const V across = placed(b, stack(b, {b.neg(sine), sine}, -1), x);
  return b.add(b.mul(x, along), b.mul(flip(b, x, -1), across));
}

// A product with a table.
V direct(Builder& b, V x, const Transform& t) {
  const V columns =
      b.view(table(b, angles(b, t.n, t.n, t.n), t.sign, t.scale), {Dim(2 * t.n), Dim(2 * t.n)});
  const V y = b.mm(b.view(x, {rows_of(b, x), Dim(2 * t.n)}), placed(b, columns, x));
  return b.view(y, {rows_of(b, x), Dim(t.n), Dim(2)});
}

// jk = (j^2 + k^2 - (k - j)^2) / 2: a convolution with a chirp, of pairs that it has turned.
V by_convolution(Builder& b, V x, const Transform& t) {
  const int64_t n = t.n, m = smooth_length(2 * n - 1);
  const auto chirp = [&](V j) {  // sign pi j^2 / n
    const V square = integer(b, "remainder", b.mul(j, j), 2 * n);
    return b.mul(b.convert(square, DType::f64), t.sign * std::numbers::pi / static_cast<double>(n));
  };
  const V angle = chirp(range(b, n));
  const V cosine = b.cos(angle), sine = b.sin(angle);
  const V row = pad_rows(b, turned(b, x, cosine, sine), 0, m - n);

  const V place = range(b, m), back = b.add(b.neg(place), AttrValue(m));
  const V apart = b.minimum(place, back);  // around the end
  const V away = b.neg(chirp(apart));
  const V filter = b.where(b.unsqueeze(integer(b, "lt", apart, n), -1),
                           stack(b, {b.cos(away), b.sin(away)}, -1), 0.0);
  const V weights =
      b.view(of_pairs(b, b.view(filter, {Dim(1), Dim(m), Dim(2)}), {m, -1, 1}), {Dim(m), Dim(2)});
  const V product =
      turned(b, of_pairs(b, row, {m, -1, 1}), select(b, weights, 0), select(b, weights, 1));
  const V sums = of_pairs(b, product, {m, 1, t.scale / static_cast<double>(m)});
  return turned(b, b.slice(sums, 1, Dim(0), Dim(n)), cosine, sine);
}

// [rows, a b, 2]: place j = ja b + jb, result k = ka + a kb.
V in_stages(Builder& b, V x, const Transform& t, int64_t a) {
  const int64_t c = t.n / a;
  const Dim rows = rows_of(b, x), da = a, dc = c;
  V y = b.permute(b.view(x, {rows, da, dc, Dim(2)}), {0, 2, 1, 3});
  y = of_pairs(b, b.view(y, {rows * dc, da, Dim(2)}), {a, t.sign, t.scale});
  const V angle = b.mul(angles(b, c, a, t.n), t.sign);
  y = turned(b, b.view(y, {rows, dc, da, Dim(2)}), b.cos(angle), b.sin(angle));
  y = b.view(b.permute(y, {0, 2, 1, 3}), {rows * da, dc, Dim(2)});
  y = b.view(of_pairs(b, y, {c, t.sign, 1}), {rows, da, dc, Dim(2)});
  return b.view(b.permute(y, {0, 2, 1, 3}), {rows, Dim(t.n), Dim(2)});
}

bool is_direct(int64_t n) { return n <= whole || (n <= whole_prime && first_factor(n) == n); }

// Half of the sum and half of the difference of x [rows,m+1,2] and itself reversed and conjugated,
// the difference turned by an angle: what halves the length of real rows, and undoes it.
V mixed(Builder& b, V x, int64_t m, double quarter, int sign, double factor) {
  const V reversed = conjugate(b, flip(b, x, 1));
  const V angle =
      b.mul(b.add(b.mul(b.convert(range(b, m + 1), DType::f64), turn / static_cast<double>(2 * m)),
                  quarter),
            sign);
  const V difference = b.mul(b.sub(x, reversed), factor);
  return b.add(b.mul(b.add(x, reversed), factor),
               turned(b, difference, b.cos(angle), b.sin(angle)));
}

// The imaginary parts of the first result, and of the last one if n is even, are 0.
V without_lone_parts(Builder& b, V x, int64_t n) {
  const V k = range(b, n / 2 + 1);
  const V is_lone = b.logical_or(integer(b, "eq", k, 0), integer(b, "eq", b.mul(k, 2), n));
  const V imaginary = b.where(is_lone, 0.0, ones(b, n / 2 + 1));
  return b.mul(x, placed(b, stack(b, {ones(b, n / 2 + 1), imaginary}, -1), x));
}

}  // namespace

V of_pairs(Builder& b, V x, const Transform& t) {
  if (is_direct(t.n)) return direct(b, x, t);
  const int64_t a = first_factor(t.n);
  return a == t.n ? by_convolution(b, x, t) : in_stages(b, x, t, a);
}

V of_real(Builder& b, V x, const Transform& t) {
  const int64_t n = t.n, half = n / 2 + 1;
  const Dim rows = rows_of(b, x);
  if (is_direct(n)) {
    const V all = table(b, angles(b, n, half, n), t.sign, t.scale);
    const V real = b.call1("select", {all}, {{"dim", 1}, {"index", 0}});
    const V columns = b.view(real, {Dim(n), Dim(2 * half)});
    return b.view(b.mm(x, placed(b, columns, x)), {rows, Dim(half), Dim(2)});
  }
  if (n % 2 != 0) {
    const V pairs = stack(b, {x, b.mul(x, 0.0)}, -1);
    return b.slice(of_pairs(b, pairs, t), 1, Dim(0), Dim(half));
  }
  const int64_t m = n / 2;
  const V y = of_pairs(b, b.view(x, {rows, Dim(m), Dim(2)}), {m, t.sign, t.scale});
  const V around = b.cat({y, b.slice(y, 1, Dim(0), Dim(1))}, 1);
  return mixed(b, around, m, -t.sign * turn / 4, t.sign, 0.5);
}

V to_real(Builder& b, V x, const Transform& t) {
  const int64_t n = t.n, half = n / 2 + 1;
  const Dim rows = rows_of(b, x);
  if (is_direct(n)) {
    const V all = select(b, table(b, angles(b, half, n, n), t.sign, t.scale), 0);  // [half,2,n]
    const V k = range(b, half);
    const V is_lone = b.logical_or(integer(b, "eq", k, 0), integer(b, "eq", b.mul(k, 2), n));
    const V weight =
        b.view(b.where(is_lone, 1.0, b.add(ones(b, half), 1.0)), {Dim(half), Dim(1), Dim(1)});
    const V columns = b.view(b.mul(all, weight), {Dim(2 * half), Dim(n)});
    return b.mm(b.view(x, {rows, Dim(2 * half)}), placed(b, columns, x));
  }
  x = without_lone_parts(b, x, n);
  if (n % 2 != 0) {
    const V rest = conjugate(b, flip(b, b.slice(x, 1, Dim(1), Dim(half)), 1));
    return select(b, of_pairs(b, b.cat({x, rest}, 1), t), 0);
  }
  const int64_t m = n / 2;
  const V z = b.slice(mixed(b, x, m, t.sign * turn / 4, t.sign, 1), 1, Dim(0), Dim(m));
  return b.view(of_pairs(b, z, {m, t.sign, t.scale}), {rows, Dim(n)});
}

}  // namespace cleave::fourier
