// Operators that change an operand where it lies, which only the host program has.
#pragma once
#include "ir/schema.h"

namespace cleave {

// The operand, by its position among operands, that has the name of result k; -1: none has. The
// result is then what the operand becomes, and begins as a copy of it.
inline int changed_operand(const Schema& schema, int k) {
  const auto result = static_cast<size_t>(k);
  if (result >= schema.result_names.size() || schema.result_names[result].empty()) return -1;
  for (size_t i = 0; i < schema.operands.size(); ++i)
    if (schema.args[schema.operands[i]].name == schema.result_names[result])
      return static_cast<int>(i);
  return -1;
}

}  // namespace cleave
