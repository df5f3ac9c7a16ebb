// Whether a mask masks exactly the positions after the diagonal.
//
//   where(le(sub(unsqueeze(arange(n); dim=0), unsqueeze(arange(n); dim=1)); other=0), 0, -inf)
//
// It is a * row - a * column + c >= 0 with 0 <= c < a (index_form.h), whatever the batch; nothing
// is evaluated.
#pragma once
#include "ir/graph.h"

namespace cleave {

// Returns true if the mask is open exactly where column <= row. The mask is added, with -inf where
// masked, or it is a bool: true means open or, without `opens`, masked. Returns false if it isn't
// causal or this can't be determined.
bool is_causal_mask(const Graph& g, ValueId mask, bool opens = true);

}  // namespace cleave
