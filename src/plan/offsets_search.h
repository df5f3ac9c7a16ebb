// Complete search for a placement below a capacity: branch and bound in the valleys of the floors.
//
// After pushing down, every placement has each buffer at 0 or on another one; the search enumerates
// only such placements. With the floors of offsets_floors.h:
//
//      ....___      ___     a valley is a run of sections with one floor h between higher ones.
//      |a  |   |____|   |   Of a section s in it exactly one case holds, and each is tried: buffer
//   h  |   |  s |   |   |   a begins at h there, or b, ..., or none does. The last one lifts the
//                           floor of s.
//
// Pruning:
//   joined    buffers that can only lie side by side are one (offsets_join.h)
//   bounds    those of offsets_floors.h
//   twins     of buffers with one lifetime, directly on each other, the better ranked is below;
//             of those that also have equal sizes, only the first is tried
//   pieces    sections between which no unplaced buffer is alive are solved separately
// The section is one with few cases, and where the capacity often couldn't be kept. Long-lived
// buffers are tried first; turns with increasing work vary that at random. Deterministic.
// Sources: canonical placements and pieces, Moffitt, "MiniMalloc", ASPLOS 2023; bounds as for one
// machine with release dates, Carlier and Pinson 1989; weights of failures, Boussemart et al. 2004;
// turns, Gomes, Selman, Kautz 1998.
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
