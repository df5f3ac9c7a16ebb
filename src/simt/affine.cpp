#include "simt/affine.h"

#include <algorithm>
#include <bit>

namespace cleave::simt {

using namespace cleave::loop;

namespace {

int64_t power_of_two_in(int64_t n) {
  if (n == 0) return Affines::most;
  return std::min<int64_t>(Affines::most, int64_t{1} << std::countr_zero(static_cast<uint64_t>(n)));
}

}  // namespace

std::optional<Affine> Affines::of(const Expr& e) const {
  if (e->op == Op::constant)
    return is_floating(e.type()) ? Affine{0, 1} : Affine{0, power_of_two_in(e->integer())};
  if (e->op == Op::var) {
    if (loop_.defined() && e->id() == loop_->id()) return Affine{1, most};
    const auto found = variables_.find(e->id());
    return found == variables_.end() ? Affine{0, 1} : found->second;
  }
  std::optional<Affine> a[4];
  bool is_fixed = true;
  for (size_t k = 0; k < e->args.size(); ++k) {
    a[k] = of(e->args[k]);
    if (!a[k]) return std::nullopt;
    is_fixed &= a[k]->factor == 0;
  }
  switch (e->op) {
    case Op::add:
      return Affine{a[0]->factor + a[1]->factor, std::min(a[0]->divisor, a[1]->divisor)};
    case Op::sub:
      return Affine{a[0]->factor - a[1]->factor, std::min(a[0]->divisor, a[1]->divisor)};
    case Op::mul: {
      const int64_t product = std::min(most, a[0]->divisor * a[1]->divisor);
      if (is_fixed) return Affine{0, product};
      if (const int64_t* n = e->args[0].as_const_int()) return Affine{a[1]->factor * *n, product};
      if (const int64_t* n = e->args[1].as_const_int()) return Affine{a[0]->factor * *n, product};
      return std::nullopt;
    }
    default: break;
  }
  if (!is_fixed) return std::nullopt;
  if (e->op == Op::min || e->op == Op::max || e->op == Op::truncmod || e->op == Op::floormod)
    return Affine{0, std::min(a[0]->divisor, a[1]->divisor)};
  return Affine{0, 1};
}

}  // namespace cleave::simt
