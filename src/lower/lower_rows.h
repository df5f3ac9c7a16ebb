// Lowers a by_rows: the thunks of its body once for each piece, whose operands are rows of the
// call's operands, and whose results are made in the rows of the call's results.
//
//   %w, %m = by_rows([%a, %b]; body, pieces=2)       a[0:r] b ─► w[0:r] m[0:r]
//                                                    a[r:2r] b ─► w[r:2r] m[r:2r]
#pragma once
#include "lower/lowering.h"

namespace cleave {

Status lower_rows(Lowering& lowering, NodeId n);

}  // namespace cleave
