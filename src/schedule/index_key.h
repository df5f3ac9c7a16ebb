// A value at an index as a key. Indices are in normal form (loop/index_math.h): equal ones are the
// same expression.
#pragma once
#include <cstdint>
#include <vector>

#include "ir/graph.h"
#include "loop/expr.h"

namespace cleave {

using IndexKey = std::vector<uintptr_t>;

// Valid as long as the index lives.
IndexKey index_key(ValueId v, const loop::Exprs& index);
bool same_index(const loop::Exprs& a, const loop::Exprs& b);

}  // namespace cleave
