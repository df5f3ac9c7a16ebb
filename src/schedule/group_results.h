// Stores the results of a group in a pass over a row: those with one value per element, and those
// with one per row; and those with rows of another length behind the passes.
#pragma once
#include <optional>

#include "schedule/group_context.h"

namespace cleave {

// Whether this pass computes results with one value per element.
bool has_results(const GroupContext& c, size_t pass);

struct ResultValue {
  const GroupResult* result;
  loop::Exprs index;
  loop::Expr value;
};
// The results at one element; of all passes if `pass` is nullopt.
std::vector<ResultValue> results_of(GroupContext& c, const FrameElement& at,
                                    std::optional<size_t> pass);
// Computes all values before it stores the first, which may overwrite an operand. is_last: see
// GroupContext::store.
void store_all(GroupContext& c, std::vector<ResultValue> list, bool is_last = true);
// Stores the results with one value per row, between passes, as soon as they are known.
void store_row_results(GroupContext& c, const FrameElement& row, size_t pass);
// The lengths of rows that some results have, other than the frame's.
std::vector<int64_t> own_lengths(const GroupContext& c);
// Stores the results with rows of this length, at this place in the row.
void store_own_results(GroupContext& c, const loop::Expr& row, const loop::Expr& inner,
                       int64_t length);

}  // namespace cleave
