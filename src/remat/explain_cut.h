// What an exact cut does with each value of the forward, why, and what would change that.
//
//      3145728 B    17911.3 us  saved       %m: dearer than its bytes; recomputed where at most ...
//
//   again    running the value's own call once more, by the cost table; 0 where it runs once only
//   reason   a tag, a border, a view; a placeholder or result, in memory anyway; else the price at
//            which the frontier turns from saving to recomputing it
//   change   the frontier's corner from which on the answer is the other one
#pragma once
#include "remat/exact_partition.h"

namespace cleave {

enum class Fate : uint8_t { saved, recomputed, forward_only };

struct ValueExplanation {
  std::string name;
  int64_t bytes = 0;
  int64_t recompute_ns = 0;
  Fate fate = Fate::forward_only;
  std::string reason;
  std::string change;            // empty: nothing but the graph or a tag
  std::optional<size_t> corner;  // that `change` speaks of
};

// In the graph's order: placeholders that are saved, then the results of calls that run in the
// forward or in both halves. `cut` is one of `exact`'s.
std::vector<ValueExplanation> explain_cut(const ExactCut& exact, const Partition& cut);

}  // namespace cleave
