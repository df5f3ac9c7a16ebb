// What a target decides about lowering, beside what is fused (FuseCosts).
#pragma once
#include "schedule/fold_form.h"
#include "schedule/loop_choices.h"

namespace cleave {

struct LowerChoices {
  FoldParts cut = {};  // of long folds
  LoopChoices loops = {};
  // Rows of matrices begin at multiples of so many bytes (pitch_rows.h).
  int64_t row_bytes = 1;
  // Library calls convert operands from other floating dtypes themselves where they can
  // (lower_cast.h). False: such a cast is made once for all its readers.
  bool folds_casts = true;
};

}  // namespace cleave
