// A joint graph cut in two.
//
//     placeholders ─► forward ─► results, saved values
//                                         │
//                     tangents ─► backward ─► gradients
//
// The forward returns the results and updates of the joint graph, then the saved values. The
// backward's placeholders are the saved values under the same names in the same order (symints
// first, with role `symint`; all others with role `saved`), then all tangents; it returns the
// gradients as plain results in the joint graph's order. Run one after the other, they compute what
// the joint graph computes.
#pragma once
#include <string>
#include <vector>

#include "ir/graph.h"

namespace cleave {

struct SavedValue {
  std::string name;
  int64_t bytes = 0;         // with symbolic sizes at their hints; 8 for a symint
  bool placeholder = false;  // of the joint graph
  std::string why;
};

struct RecomputedValue {
  std::string name;
  int64_t bytes = 0;
  int64_t flops = 0;  // of its call; of a call with several results only at the first of them
  std::string why;
};

// How many placeholders and returns a half has; symints count only where they are saved values.
struct Arity {
  int64_t inputs = 0, outputs = 0;
  friend bool operator==(const Arity&, const Arity&) = default;
};

struct Partition {
  Graph forward, backward;
  std::vector<SavedValue> saved;
  std::vector<RecomputedValue> recomputed;
  int64_t saved_bytes = 0;             // of all saved values
  int64_t saved_activation_bytes = 0;  // each storage once; without placeholders and their views
  int64_t recompute_flops = 0;
  std::vector<NodeId> run_twice;  // calls of the joint graph that are in both halves
  Arity forward_arity, backward_arity;
};

}  // namespace cleave
