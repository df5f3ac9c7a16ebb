// Merges equal calls: the same operator on the same operands with the same attributes, across
// forward and backward.
//
//   %a = sin(%x)   %b = sin(%x)   ->   %a for both
//
// The first one's name survives. Calls that are random, have an effect, or have different
// checkpoint tags are not merged: a value tagged for recomputation must not be kept after all.
#include "ir/edit.h"
#include "pass/passes.h"

namespace cleave {

Pass merge_equal() {
  return {.name = "merge_equal",
          .summary = "equal calls are one call",
          .run = [](Graph& g, const OpRegistry&) -> Result<PassCount> {
            const int64_t merged = eliminate_common_subexpressions(g);
            return PassCount{merged, merged};
          }};
}

}  // namespace cleave
