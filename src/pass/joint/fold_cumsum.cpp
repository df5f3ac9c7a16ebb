// Turns cumulative sums of a uniform value into its multiples.
//
//   cumsum(full(v); dim)  ->  expand(view(arange(1, n+1) * v, along dim)); full(0) of zeros
//
//   exact    v is an integer, and the dtype holds n * v and all sums before it; integers wrap the
//            same way in sums and in products
//   rounded  other finite v in f32 and f64, where the product rounds once and each sum rounds
//
// Floats need a bound on n, which otherwise may be symbolic. A 0-d operand is its own sum and is
// left alone. The full may have other users; positions of tokens are cumulative sums of a mask of
// ones.
// Source: post_grad.py pointless_cumsum_replacement, PyTorch 2.13.
#include <algorithm>
#include <cmath>

#include "pass/constant.h"
#include "pass/passes.h"

namespace cleave {
namespace {

// The dtype can represent every integer up to this one.
double whole_limit(DType t) {
  switch (t) {
    case DType::f64: return 0x1p53;
    case DType::f32: return 0x1p24;
    case DType::f16: return 0x1p11;
    case DType::bf16: return 0x1p8;
    default: return 0;
  }
}

size_t dim_of(const Match& m) {
  const int64_t dim = m.integer("dim");
  return static_cast<size_t>(dim < 0 ? dim + m.type("y").rank() : dim);
}

double longest(const Match& m) {
  return static_cast<double>(m.graph().env().range_of(m.type("y").shape[dim_of(m)]).hi);
}

// Whether full, and cumsum's dtype too, hold v exactly as given.
bool holds_value(const Match& m) {
  const Type &x = m.type("x"), &y = m.type("y");
  const double v = m.scalar("v");
  if (y.rank() == 0 || y.device != Device() || v != std::trunc(v) || std::abs(v) > 0x1p31)
    return false;
  for (const DType t : {x.dtype, y.dtype})
    if (is_floating(t) ? std::abs(v) > whole_limit(t) : wrap_to(t, static_cast<int64_t>(v)) != v)
      return false;
  return is_floating(y.dtype) || is_integer(y.dtype);
}

bool is_exact(const Match& m) {
  const DType t = m.type("y").dtype;
  return holds_value(m) &&
         (!is_floating(t) || longest(m) * std::max(1.0, std::abs(m.scalar("v"))) <= whole_limit(t));
}

bool is_rounded(const Match& m) {
  const Type &x = m.type("x"), &y = m.type("y");
  return y.rank() > 0 && y.device == Device() && x.dtype == y.dtype &&
         (y.dtype == DType::f32 || y.dtype == DType::f64) && std::isfinite(m.scalar("v")) &&
         longest(m) <= whole_limit(y.dtype);
}

Values multiples(Builder& b, const Match& m) {
  const Type& y = m.type("y");
  const Dim n = y.shape[dim_of(m)];
  Shape along(y.shape.size(), Dim(1));
  along[dim_of(m)] = n;
  const double v = m.scalar("v");
  if (v == 0)
    return {b.full(y.shape, is_floating(y.dtype) ? AttrValue(v) : AttrValue(int64_t{0}), y.dtype)};
  ValueId sums = b.call1("arange", {}, {{"start", 1}, {"end", n + 1}});
  sums = b.convert(sums, y.dtype);
  if (v != 1)
    sums = b.mul(sums, is_floating(y.dtype) ? AttrValue(v) : AttrValue(static_cast<int64_t>(v)));
  return {b.expand(b.view(sums, along), y.shape)};
}

}  // namespace

Pass fold_cumsum() {
  const Pattern sums =
      call("cumsum", {full_of("v").named("x")}, {{"dim", bind("dim")}, {"dtype", anything()}})
          .named("y");
  return {.name = "fold_cumsum",
          .summary = "sums up to each place of one number are its multiples",
          .rules = {{.name = "exact", .search = {sums}, .when = is_exact, .build = multiples},
                    {.name = "rounded",
                     .search = {sums},
                     .when = is_rounded,
                     .build = multiples,
                     .rounds = true}}};
}

}  // namespace cleave
