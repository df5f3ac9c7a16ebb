// Names what a frozen program computes once, which the stage then takes out of it.
//
//   %c = mm(%w, %v)  ->  %_FOLDED_CONST_c = mm(%w, %v)     w, v: param, buffer, const
//
// The values are those of foldable_values (frozen_values.h).
#include "pass/freeze/frozen_values.h"
#include "pass/passes.h"

namespace cleave {
namespace {

Result<PassCount> run(Graph& g, const OpRegistry&) {
  CLEAVE_TRY(const int64_t named, name_folded(g, foldable_values(g)));
  return PassCount{named, named};
}

}  // namespace

Pass fold_frozen() {
  return {.name = "fold_frozen",
          .summary = "calls of frozen values alone are computed once, for all runs",
          .run = run,
          .outermost = true};
}

}  // namespace cleave
