// Gives matrices of products rows that begin at multiples of what the target's products read fast.
//
//   %logits = mm(%x, %w)     bf16[16384,30522], its rows 30528 apart
//
// Only where no reader needs them without gaps: calls and views that take any layout.
#pragma once
#include "lower/place.h"

namespace cleave {

// Adds to places. row_bytes: LowerChoices; for a graph whose calls are fused already.
void pitch_rows(const Graph& graph, int64_t row_bytes, Places& places);

}  // namespace cleave
