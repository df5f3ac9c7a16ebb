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
  PassCount count;
  for (const ValueId v : foldable_values(g)) {
    if (is_folded(g, v)) continue;
    CLEAVE_CHECK(g.rename(v, g.fresh_name(fmt::format("{}{}", folded_prefix, g.name(v)))));
    ++count.matches;
    ++count.nodes;
  }
  return count;
}

}  // namespace

Pass fold_frozen() {
  return {.name = "fold_frozen",
          .summary = "calls of frozen values alone are computed once, for all runs",
          .run = run,
          .outermost = true};
}

}  // namespace cleave
