// A joint graph cut in two.
//
//     placeholders ─► forward ─► results, saved values
//                                         │
//                     tangents ─► backward ─► gradients
//
// The forward returns the results and updates of the joint graph, then the saved values. The
// backward's placeholders are the saved values under the same names in the same order (symints
// first, with role `symint`; all others with role `saved`), then all tangents; it returns the
// gradients as plain results in the joint graph's order. Run one after the other they give what the
// joint graph gives.
#pragma once
#include <string>
#include <vector>

#include "ir/graph.h"

namespace cleave {

struct SavedValue {
  std::string name;
  int64_t bytes = 0;         // at the hints of symbolic sizes; a symint is 8
  bool placeholder = false;  // of the joint graph
  std::string why;
};

struct RecomputedValue {
  std::string name;
  int64_t bytes = 0;
  int64_t flops = 0;  // of its call; a call with several results counts at the first
  std::string why;
};

// Symints count only where they are saved values.
struct Arity {
  int64_t inputs = 0, outputs = 0;
  friend bool operator==(const Arity&, const Arity&) = default;
};

struct Partition {
  Graph forward, backward;
  std::vector<SavedValue> saved;
  std::vector<RecomputedValue> recomputed;
  int64_t saved_bytes = 0;             // of all saved values
  int64_t saved_activation_bytes = 0;  // each storage once; placeholders and their views are 0
  int64_t recompute_flops = 0;
  std::vector<NodeId> run_twice;  // calls of the joint graph that stand in both halves
  Arity forward_arity, backward_arity;
};

}  // namespace cleave
