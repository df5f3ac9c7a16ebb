#include <cmath>
#include <optional>

#include "interp/moved_oracle.h"

namespace cleave {
namespace {

// Whether each element agrees within base_error_of its type, relative to its own size.
bool is_close(const Array& got, const Array& want) {
  for (int64_t k = 0; k < want.numel(); ++k) {
    const double a = got.number(k), b = want.number(k);
    if (a == b || (std::isnan(a) && std::isnan(b))) continue;
    if (!(std::fabs(a - b) <= base_error_of(want.dtype) * std::fabs(b))) return false;
  }
  return true;
}

// Return `at`, element by element. `unnarrowed`: where a conversion that a pass may drop makes
// infinities, the numbers without it; null: none may be dropped.
void compare(const Array& got, const Array& want, const std::vector<Arrays>& moved,
             const Array* unnarrowed, size_t at, Agreement& agreement) {
  std::vector<const Array*> others;
  for (const Arrays& m : moved) others.push_back(&m[at]);
  const Allowance c(want, others);
  for (int64_t k = 0; k < want.numel(); ++k) {
    const bool is_beyond_narrow =
        unnarrowed && !std::isfinite(want.number(k)) && std::isfinite(unnarrowed->number(k));
    if (is_beyond_narrow || c.is_open(k)) {
      ++agreement.left_open;
      continue;
    }
    ++agreement.elements;
    const double a = got.number(k), b = want.number(k);
    if (a == b || (std::isnan(a) && std::isnan(b)) || std::fabs(a - b) <= c.error(k)) continue;
    agreement.at = at;
    agreement.difference =
        fmt::format("element {}: {}, expected {} within {:.2g}", k, a, b, c.error(k));
    return;
  }
}

}  // namespace

Result<Agreement> compare_with_oracle(const Graph& g, const Arrays& inputs, const Arrays& got,
                                      Narrowing narrowing) {
  CLEAVE_TRY(const Arrays want, run_oracle(g, inputs));
  Agreement agreement;
  std::vector<Arrays> moved;  // made when the first return asks for them
  std::optional<Arrays> unnarrowed;
  for (size_t at = 0; at < want.size() && agreement.difference.empty(); ++at) {
    Array stored = want[at];
    for (double& x : stored.f) x = round_to(stored.dtype, x);
    if (is_close(got[at], stored)) {
      agreement.elements += stored.numel();
      continue;
    }
    if (moved.empty()) {
      moved = moved_oracles(g, inputs);
      if (narrowing == Narrowing::may_be_dropped)
        if (Result<Arrays> dropped = run_oracle(g, inputs, narrowing); dropped.ok())
          unnarrowed = *std::move(dropped);
    }
    compare(got[at], stored, moved, unnarrowed ? &(*unnarrowed)[at] : nullptr, at, agreement);
  }
  return agreement;
}

}  // namespace cleave
