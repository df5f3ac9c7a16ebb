// How the operands and results of a group without folds are traversed over the dims of its loops.
#pragma once
#include <optional>

#include "schedule/group_context.h"

namespace cleave {

struct Traversal {
  // The number of last dims that every operand and result traverses as one.
  size_t inner_dims = 0;
  // The dim along which the elements of some operand or result are adjacent that lie far apart
  // along the last one; if lines of memory would be read again and again for them, or elements
  // computed one by one.
  std::optional<size_t> crossed;

  static Traversal of(const GroupCalls& calls, const GroupPlan& plan,
                      const std::vector<int64_t>& shape);
};

}  // namespace cleave
