// What an exact cut does with each value of the forward, why, and what would change that.
//
//      3145728 B    17911.3 us  saved       %m: dearer than its bytes; recomputed where at most ...
//
//   time     of running the value's own call once more, by the cost table; 0 if it runs only once
//   reason   a tag, a border, a view; a placeholder or result, in memory anyway; else the price of
//            a byte at which the frontier changes from saving to recomputing it
//   change   the corner of the frontier from which on the decision is the opposite one
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
  std::string change;            // empty: only another graph or tag would change it
  std::optional<size_t> corner;  // the corner named in `change`
};

// In the graph's order: saved placeholders, then the results of forward calls, and those of calls
// of the half `either` that are saved. `cut` is one of `exact`'s.
std::vector<ValueExplanation> explain_cut(const ExactCut& exact, const Partition& cut);

}  // namespace cleave
