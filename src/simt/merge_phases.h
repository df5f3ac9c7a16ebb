// Phases that don't wait for each other, one after the other, become one launch: the sums of
// several columns' parts run side by side, and there is one start in place of several.
//
//   phase a: 12 blocks of 512      block < 12: a
//   phase b: 12 blocks of 512      else: b, as block - 12
#pragma once
#include "simt/kernel.h"

namespace cleave::simt {

// Phases of equal threads, of few blocks or parts of one loop, none of which writes what another
// one accesses.
void merge_phases(Kernel& kernel);

}  // namespace cleave::simt
