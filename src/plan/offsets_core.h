// The core first: the tightest moment is solved by complete search, the rest is laid around it.
//
//   total |      _##_               the window grows around the section of the largest total until
//         |   __|    |__   _        `most` buffers begin or end in it: the core. What lives through
//         | _/ [window] \_/ \_      the whole window is as one block there, put on the core:
//         +--------------------->   capacity of the core = height - sum of those
//
// Two of the core that meet anywhere meet in the window, so that its placement holds everywhere.
#pragma once
#include "plan/offsets_problem.h"

namespace cleave::plan {

// Where the core lies, -1 for all others; empty where the search finds nothing within `work`
// (elementary operations), from which it takes what it does.
Placement place_core(const OffsetProblem& p, int64_t height, size_t most, int64_t& work);

}  // namespace cleave::plan
