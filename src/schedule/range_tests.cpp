#include "schedule/range_tests.h"

#include <algorithm>

namespace cleave::schedule {

using namespace cleave::loop;

namespace {

// Larger numbers aren't looked at, so that nothing overflows.
constexpr int64_t limit = int64_t{1} << 30;
constexpr size_t max_values = 4;

bool is_test(Op op) {
  switch (op) {
    case Op::lt:
    case Op::le:
    case Op::gt:
    case Op::ge:
    case Op::min:
    case Op::max: return true;
    default: return false;
  }
}

bool holds(Op op, int64_t difference) {
  switch (op) {
    case Op::ge: return difference >= 0;
    case Op::gt: return difference > 0;
    case Op::lt: return difference < 0;
    case Op::max: return difference >= 0;
    default: return difference <= 0;  // le, min
  }
}

}  // namespace

std::optional<RangeTests::Linear> RangeTests::linear(const Expr& e) {
  if (const auto at = found_.find(e); at != found_.end()) return at->second;
  const std::optional<Linear> out = linear_anew(e);
  found_.emplace(e, out);
  return out;
}

std::optional<RangeTests::Linear> RangeTests::linear_anew(const Expr& e) {
  if (e.type() != DType::i64) return std::nullopt;
  std::optional<Linear> out;
  if (const int64_t* n = e.as_const_int()) out = Linear{0, *n};
  if (e == var_) out = Linear{1, 0};
  if (e->op == Op::var && e != var_)
    if (const auto at = known_.find(e->id()); at != known_.end()) out = at->second;
  if (e->op == Op::add || e->op == Op::sub || e->op == Op::mul) {
    const std::optional<Linear> a = linear(e->args[0]);
    const std::optional<Linear> b = a ? linear(e->args[1]) : a;
    if (!a || !b) return std::nullopt;
    if (e->op == Op::add) out = Linear{a->factor + b->factor, a->constant + b->constant};
    if (e->op == Op::sub) out = Linear{a->factor - b->factor, a->constant - b->constant};
    if (e->op == Op::mul && a->factor == 0)
      out = Linear{a->constant * b->factor, a->constant * b->constant};
    if (e->op == Op::mul && b->factor == 0)
      out = Linear{a->factor * b->constant, a->constant * b->constant};
  }
  const auto is_small = [](int64_t n) { return n > -limit && n < limit; };
  if (!out || !is_small(out->factor) || !is_small(out->constant)) return std::nullopt;
  return out;
}

std::vector<RangeTests::Linear> RangeTests::values_of(const Expr& e) {
  if (const std::optional<Linear> one = linear(e)) return {*one};
  if (e->op != Op::min && e->op != Op::max) return {};
  std::vector<Linear> out;
  for (const Expr& a : e->args) {
    const std::vector<Linear> own = values_of(a);
    if (own.empty() || out.size() + own.size() > max_values) return {};
    out.insert(out.end(), own.begin(), own.end());
  }
  return out;
}

void RangeTests::define(const Expr& var, const Expr& value) {
  if (const std::optional<Linear> at = linear(value)) known_.emplace(var->id(), *at);
}

void RangeTests::changes_of(const Expr& e, int64_t iterations, std::set<int64_t>& out) {
  if (!seen_.insert(e).second) return;
  for (const Expr& a : e->args) changes_of(a, iterations, out);
  if (!is_test(e->op)) return;
  for (const Linear& a : values_of(e->args[0]))
    for (const Linear& b : values_of(e->args[1])) {
      const Linear d = a - b;
      const bool first = holds(e->op, d.at(0));
      if (holds(e->op, d.at(iterations - 1)) == first) continue;
      int64_t same = 0, other = iterations - 1;
      while (other - same > 1) {
        const int64_t middle = same + (other - same) / 2;
        (holds(e->op, d.at(middle)) == first ? same : other) = middle;
      }
      out.insert(other);
    }
}

std::optional<bool> RangeTests::result_in_first(const Expr& e, int64_t iterations) {
  if (!is_test(e->op)) return std::nullopt;
  const std::optional<Linear> a = linear(e->args[0]), b = a ? linear(e->args[1]) : a;
  if (!a || !b) return std::nullopt;
  const Linear d = *a - *b;
  const bool first = holds(e->op, d.at(0));
  if (holds(e->op, d.at(iterations - 1)) != first) return std::nullopt;
  return first;
}

}  // namespace cleave::schedule
