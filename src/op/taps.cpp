#include "op/taps.h"

namespace cleave {

using loop::Expr;
using loop::Exprs;
using loop::KernelBuilder;

namespace {

constexpr int64_t max_written_out = 32;  // taps; beyond, unrolled code would grow with the window

Expr product(const Expr& a, const Expr& b) {
  if (!a.defined() || !b.defined()) return a.defined() ? a : b;
  return a * b;
}

// One term of the sum.
Expr term(KernelBuilder& k, int flat, const Exprs& index, size_t first,
          const std::vector<Tap>& taps) {
  Exprs at = index;
  size_t d = first;
  Expr weight, inside, again;
  for (const Tap& t : taps) {
    at[d++] = t.at;
    weight = product(weight, t.weight);
    inside = both_hold(inside, t.inside);
    again = either_holds(again, t.again);
  }
  Expr x = k.load(flat, at);
  const Expr zero = loop::constant(x.type(), 0);
  const Expr lost = again.defined() ? select(again, x * zero, zero) : Expr();
  if (weight.defined()) x = x * weight;
  if (lost.defined()) x = x + lost;
  return inside.defined() ? select(inside, x, loop::constant(x.type(), 0)) : x;
}

Expr written_out(KernelBuilder& k, int flat, const Exprs& index, size_t first,
                 const std::vector<DimTaps>& dims) {
  std::vector<std::vector<Tap>> taps(dims.size());
  std::vector<int64_t> counts;
  for (size_t d = 0; d < dims.size(); ++d) {
    counts.push_back(dims[d].count);
    for (int64_t t = 0; t < dims[d].count; ++t) {
      Tap tap = dims[d].tap(k, index[first + d], Expr(t));
      tap.at = k.let(tap.at, "at");
      if (tap.weight.defined()) tap.weight = k.let(tap.weight, "w");
      if (tap.inside.defined()) tap.inside = k.let(tap.inside, "in");
      if (tap.again.defined()) tap.again = k.let(tap.again, "again");
      taps[d].push_back(tap);
    }
  }
  Expr sum;
  std::vector<int64_t> number(dims.size(), 0);
  do {
    std::vector<Tap> one;
    for (size_t d = 0; d < dims.size(); ++d) one.push_back(taps[d][static_cast<size_t>(number[d])]);
    const Expr x = k.let(term(k, flat, index, first, one), "x");
    sum = sum.defined() ? k.let(sum + x, "sum") : x;
  } while (next_index(number, counts));
  return sum;
}

}  // namespace

Expr sum_of_taps(KernelBuilder& k, int flat, const Exprs& index, const std::vector<DimTaps>& dims) {
  return sum_of_taps_from(k, flat, index, index.size() - dims.size(), dims);
}

Expr sum_of_taps_from(KernelBuilder& k, int flat, const Exprs& index, size_t first,
                      const std::vector<DimTaps>& dims) {
  std::vector<int64_t> counts;
  for (const DimTaps& d : dims) counts.push_back(d.count);
  const int64_t all = numel_of(counts);
  if (all == 0 || numel_of(k.operand(flat).layout.shape) == 0)
    return loop::constant(loop::compute_type(k.operand(flat).dtype), 0);
  if (all <= max_written_out) return written_out(k, flat, index, first, dims);
  return k.reduce(loop::ReduceOp::sum, counts, [&](const Exprs& t) {
    std::vector<Tap> one;
    for (size_t d = 0; d < dims.size(); ++d) one.push_back(dims[d].tap(k, index[first + d], t[d]));
    return term(k, flat, index, first, one);
  });
}

Expr at_least(const Expr& a, const Expr& b) { return binary(loop::Op::max, a, b); }
Expr at_most(const Expr& a, const Expr& b) { return binary(loop::Op::min, a, b); }
Expr clamped(const Expr& v, int64_t size) { return at_least(at_most(v, Expr(size - 1)), Expr(0)); }
Expr in_range(const Expr& v, int64_t size) {
  return both_hold(binary(loop::Op::ge, v, Expr(0)), binary(loop::Op::lt, v, Expr(size)));
}
Expr quotient(const Expr& a, int64_t b) {
  return b == 1 ? a : binary(loop::Op::truncdiv, a, Expr(b));
}
Expr quotient_up(const Expr& a, int64_t b) { return quotient(a + Expr(b - 1), b); }
Expr both_hold(const Expr& a, const Expr& b) {
  if (!a.defined() || !b.defined()) return a.defined() ? a : b;
  return binary(loop::Op::logical_and, a, b);
}
Expr either_holds(const Expr& a, const Expr& b) {
  if (!a.defined() || !b.defined()) return a.defined() ? a : b;
  return binary(loop::Op::logical_or, a, b);
}

}  // namespace cleave
