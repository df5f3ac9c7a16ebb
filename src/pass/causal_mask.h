// Whether a mask closes exactly what lies after the diagonal.
//
//   where(le(sub(unsqueeze(arange(n); dim=0), unsqueeze(arange(n); dim=1)); other=0), 0, -inf)
//
// A value [rows,columns] that is made of aranges is a form a * row + b * column + c, or whether
// such a form is at least 0; nothing is computed.
#pragma once
#include "ir/graph.h"

namespace cleave {

// True: open where column <= row. The mask is added, -inf where closed, or a bool: true is open or,
// without `opens`, closed. False: it isn't so, or that isn't seen.
bool is_causal_mask(const Graph& g, ValueId mask, bool opens = true);

}  // namespace cleave
