#include "text/words.h"

#include <algorithm>

namespace cleave::text {
namespace {

// Joins a part to the one before where joins(is_match, is the one before a match) says so.
template <class Joins>
void join(Parts& parts, Joins&& joins) {
  Parts made;
  bool before = false;
  for (const Part& p : parts) {
    if (joins(p.is_match, before) && !made.empty()) {
      made.back().begin = std::min(made.back().begin, p.begin);
      made.back().end = std::max(made.back().end, p.end);
    } else {
      made.push_back({p.begin, p.end, false});
    }
    before = p.is_match;
  }
  parts = std::move(made);
}

}  // namespace

void merge_parts(Parts& parts, SplitBehavior behavior) {
  const auto alone = [](bool is_match, bool before) { return is_match && !before; };
  switch (behavior) {
    case SplitBehavior::removed: return;
    case SplitBehavior::isolated:
      for (Part& p : parts) p.is_match = false;
      return;
    case SplitBehavior::contiguous:
      return join(parts, [](bool is_match, bool before) { return is_match == before; });
    case SplitBehavior::merged_with_previous: return join(parts, alone);
    case SplitBehavior::merged_with_next:
      std::ranges::reverse(parts);
      join(parts, alone);
      std::ranges::reverse(parts);
  }
}

}  // namespace cleave::text
