// A value at an index, as a key: indices are in normal form (loop/index_math.h), where equal ones
// are the same expression.
#pragma once
#include <utility>

#include "ir/graph.h"
#include "loop/expr.h"

namespace cleave {

using IndexKey = std::pair<uint32_t, loop::Exprs>;

inline IndexKey index_key(ValueId v, loop::Exprs index) { return {v.v, std::move(index)}; }

}  // namespace cleave
