// The results of a group that are stored in a pass over a row: those with one value for each
// element, and those with one for each row.
#pragma once
#include <optional>

#include "schedule/group_context.h"

namespace cleave {

// Whether results with one value for each element are known in this pass.
bool has_results(const GroupContext& c, size_t pass);

struct ResultValue {
  const GroupResult* result;
  loop::Exprs index;
  loop::Expr value;
};
// Those of one element; pass nullopt: whichever pass they are known in.
std::vector<ResultValue> results_of(GroupContext& c, const FrameElement& at,
                                    std::optional<size_t> pass);
// All values are computed before the first is stored: it may lie over an operand. is_last: as of
// GroupContext::store.
void store_all(GroupContext& c, std::vector<ResultValue> list, bool is_last = true);
// One value a row: stored between the passes, as soon as it is known.
void store_row_results(GroupContext& c, const FrameElement& row, size_t pass);

}  // namespace cleave
