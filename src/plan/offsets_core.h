// Solves the tightest moment, the core, by complete search; the rest is placed around it.
//
//   total |      _##_               the window grows around the section of the largest total until
//         |   __|    |__   _        `most` buffers begin or end in it: the core. Buffers that live
//         | _/ [window] \_/ \_      through the whole window are one block there, put on the core:
//         +--------------------->   capacity of the core = height - sum of those
//
// Two buffers of the core that overlap anywhere overlap in the window, so its placement is valid
// everywhere.
#pragma once
#include "plan/offsets_problem.h"

namespace cleave::plan {

// The offsets of the core, -1 for all other buffers; empty if the search finds nothing within
// `work` (elementary operations), from which it subtracts what it uses.
Placement place_core(const OffsetProblem& p, int64_t height, size_t most, int64_t& work);

}  // namespace cleave::plan
