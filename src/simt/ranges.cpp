#include "simt/ranges.h"

#include <algorithm>
#include <limits>

namespace cleave::simt {

using loop::Expr;
using loop::Op;

namespace {

__extension__ using Wide = __int128;

std::optional<Range> narrowed(Wide low, Wide high) {
  constexpr Wide least = std::numeric_limits<int64_t>::min(),
                 most = std::numeric_limits<int64_t>::max();
  if (low < least || high > most) return std::nullopt;
  return Range{static_cast<int64_t>(low), static_cast<int64_t>(high)};
}

int64_t floor_div(int64_t a, int64_t b) { return a / b - (a % b != 0 && (a < 0) != (b < 0)); }

std::optional<Range> product(const Range& a, const Range& b) {
  const Wide ends[] = {Wide(a.low) * b.low, Wide(a.low) * b.high, Wide(a.high) * b.low,
                       Wide(a.high) * b.high};
  return narrowed(*std::ranges::min_element(ends), *std::ranges::max_element(ends));
}

}  // namespace

void Ranges::set(const Expr& var, std::optional<Range> range) {
  variables_[var->id()] = range;
  known_.clear();
}

std::optional<Range> Ranges::of(const Expr& e) {
  const DType type = e.type();
  if (type == DType::boolean) return Range{0, 1};
  if (type != DType::i64 && type != DType::i32) return std::nullopt;
  if (e->op == Op::constant) return Range{e->integer(), e->integer()};
  if (e->op == Op::var) {
    const auto found = variables_.find(e->id());
    return found == variables_.end() ? std::nullopt : found->second;
  }
  if (const auto found = known_.find(e); found != known_.end()) return found->second;
  std::optional<Range> out = of_operation(*e);
  if (out && type == DType::i32 && !out->fits_i32()) out.reset();  // it wraps
  known_[e] = out;
  return out;
}

Expr Ranges::decided(const Expr& e) {
  const auto range = of(e);
  if (!range || e.type() == DType::boolean) return e;
  if (range->low == range->high) return loop::constant_int(e.type(), range->low);
  if (e->op != Op::min && e->op != Op::max) return e;
  const auto a = of(e->args[0]), b = of(e->args[1]);
  if (!a || !b) return e;
  const bool first_is_less = a->high <= b->low;
  if (!first_is_less && b->high > a->low) return e;
  return decided(e->args[first_is_less == (e->op == Op::min) ? 0 : 1]);
}

std::optional<int64_t> Ranges::most(const Expr& e) {
  if (const auto range = of(e)) return range->high;
  if (e->op != Op::min && e->op != Op::max) return std::nullopt;
  const auto a = most(e->args[0]), b = most(e->args[1]);
  if (e->op == Op::max) return a && b ? std::optional(std::max(*a, *b)) : std::nullopt;
  return a && b ? std::min(*a, *b) : a ? a : b;
}

std::optional<Range> Ranges::of_operation(const loop::ExprNode& e) {
  if (e.op == Op::select) {
    const auto a = of(e.args[1]), b = of(e.args[2]);
    if (!a || !b) return std::nullopt;
    return Range{std::min(a->low, b->low), std::max(a->high, b->high)};
  }
  if (e.op == Op::cast) return is_floating(e.args[0].type()) ? std::nullopt : of(e.args[0]);
  const size_t n = e.args.size();
  if (n == 0 || n > 2 || e.op == Op::load || is_floating(e.args[0].type())) return std::nullopt;
  const auto a = of(e.args[0]);
  const auto b = n == 2 ? of(e.args[1]) : a;
  if (!a || !b) {
    // A remainder, and the smaller of two, are bounded by one of them.
    if (e.op == Op::floormod && b && b->low > 0) return Range{0, b->high - 1};
    return std::nullopt;
  }
  switch (e.op) {
    case Op::add: return narrowed(Wide(a->low) + b->low, Wide(a->high) + b->high);
    case Op::sub: return narrowed(Wide(a->low) - b->high, Wide(a->high) - b->low);
    case Op::mul: return product(*a, *b);
    case Op::neg: return narrowed(-Wide(a->high), -Wide(a->low));
    case Op::min: return Range{std::min(a->low, b->low), std::min(a->high, b->high)};
    case Op::max: return Range{std::max(a->low, b->low), std::max(a->high, b->high)};
    case Op::div:
    case Op::truncdiv:
      if (b->low <= 0) return std::nullopt;
      return Range{std::min(a->low / b->low, a->low / b->high),
                   std::max(a->high / b->low, a->high / b->high)};
    case Op::floordiv:
      if (b->low <= 0) return std::nullopt;
      return Range{std::min(floor_div(a->low, b->low), floor_div(a->low, b->high)),
                   std::max(floor_div(a->high, b->low), floor_div(a->high, b->high))};
    case Op::truncmod:
      if (b->low <= 0) return std::nullopt;
      return Range{a->low >= 0 ? 0 : std::max(a->low, 1 - b->high),
                   a->high <= 0 ? 0 : std::min(a->high, b->high - 1)};
    case Op::floormod:
      if (b->low <= 0) return std::nullopt;
      return Range{0, a->low >= 0 ? std::min(a->high, b->high - 1) : b->high - 1};
    case Op::bit_and:
      if (a->low < 0 && b->low < 0) return std::nullopt;
      return Range{0, a->low < 0 ? b->high : b->low < 0 ? a->high : std::min(a->high, b->high)};
    default: return std::nullopt;
  }
}

}  // namespace cleave::simt
