// Complete search for a placement below a capacity: branch and bound, the lowest section first.
//
// After pushing down, every placement has each buffer at 0 or on another one; the search enumerates
// only such placements. With all floors of offsets_floors.h, let h be the lowest:
//
//   h  ....___      ___     take a section s with floor h, the one where fewest buffers can begin
//     |a  |   |____|   |    at h. Exactly one case holds, and each is tried: buffer a begins there,
//     |   |     s      |    or b, ..., or none does. The last one lifts the floor of s.
//
// Pruning:
//   bounds    those of offsets_floors.h
//   twins     of buffers with one lifetime, directly on each other, the better ranked is below;
//             of those that also have equal sizes, only the first is tried
//   pieces    sections between which no unplaced buffer is alive are solved separately
// Ranks and choices of sections are tried in turns, with increasing work. Deterministic.
// Sources: canonical placements and pieces, Moffitt, "MiniMalloc", ASPLOS 2023; bounds as for one
// machine with release dates, Carlier and Pinson 1989; turns, Gomes, Selman, Kautz 1998.
#pragma once
#include "plan/offsets_problem.h"

namespace cleave::plan {

enum class SearchEnd { found, none, out_of_work };

struct SearchResult {
  SearchEnd end = SearchEnd::out_of_work;
  Placement at;  // if found
};

// Subtracts the work done from `work` (elementary operations), and stops below zero. Recursion
// depth: the number of buffers.
SearchResult search_placement(const OffsetProblem& p, int64_t capacity, int64_t& work);

}  // namespace cleave::plan
