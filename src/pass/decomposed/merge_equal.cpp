// Equal calls are one call: the same operator on the same operands with the same attributes, of the
// forward and of the backward alike.
//
//   %a = sin(%x)   %b = sin(%x)   ->   %a for both
//
// The first one's name survives. Calls that are random, that have an effect or other checkpoint
// tags stay: what is tagged to be computed again must not be kept after all.
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
