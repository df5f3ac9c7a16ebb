// Complete search for a placement below a capacity: branch and bound, the lowest section first.
//
// Pushed down, every placement has each buffer at 0 or on another; only such are looked for. With
// all floors in offsets_floors.h, the lowest of them is h:
//
//   h  ....___      ___     take a section s with floor h, the one where fewest buffers can begin
//     |a  |   |____|   |    at h. Exactly one is true, and each is tried: buffer a begins there, or
//     |   |     s      |    b, ..., or none does. The last one lifts the floor of s.
//
// Cut off:
//   bounds    those of offsets_floors.h
//   twins     of buffers with one lifetime, directly on each other, the better ranked lies below;
//             of those that are also equally large, only the first is tried
//   pieces    sections between which nothing of the rest is alive are solved apart
// Ranks and choices of sections are tried in turns, with ever more work. Deterministic.
// Sources: canonical placements and pieces, Moffitt, "MiniMalloc", ASPLOS 2023; bounds as for one
// machine with release dates, Carlier and Pinson 1989; turns, Gomes, Selman, Kautz 1998.
#pragma once
#include "plan/offsets_problem.h"

namespace cleave::plan {

enum class SearchEnd { found, none, out_of_work };

struct SearchResult {
  SearchEnd end = SearchEnd::out_of_work;
  Placement at;  // where found
};

// Takes what it does from `work` (elementary operations), and stops below zero. As deep as there
// are buffers.
SearchResult search_placement(const OffsetProblem& p, int64_t capacity, int64_t& work);

}  // namespace cleave::plan
