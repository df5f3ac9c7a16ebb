// What the entries of products with groups share: _grouped_mm and grouped_mm_fallback.
#pragma once
#include "library/grouped_product_spec.h"
#include "op/entry.h"

namespace cleave {

// The group of places x of a dim: the first whose end is behind x; bool [groups, size].
ValueId group_members(Builder& b, ValueId ends, const Dim& size);
// The same for a reference: -1 where no end is behind x.
int64_t group_of(const Array& ends, int64_t x);

// Breaks `rule` unless the ends are i64 or i32 of one dim, one for each group.
Status check_group_ends(const OpView& op, std::string_view rule, int ends, const Dim& groups);

// _grouped_mm(a, b, ends).
ValueId grouped_product(Builder& b, ValueId x, ValueId y, ValueId ends);
// With the last two dims exchanged.
ValueId exchanged(Builder& b, ValueId x);

// Ends of groups of `size` places, also empty ones and some that leave places over.
SampleTensor group_ends(std::vector<double> ends, DType t = DType::i32);

}  // namespace cleave
