// Indices of 32 bits, where what they can be fits.
#pragma once
#include "simt/kernel.h"
#include "simt/ranges.h"

namespace cleave::simt {

// `ranges` knows the phase's variables.
void narrow_indices(Phase& phase, Ranges& ranges);

}  // namespace cleave::simt
