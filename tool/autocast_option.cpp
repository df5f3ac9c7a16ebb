#include "tool/autocast_option.h"

#include "pass/autocast.h"

namespace cleave::tool {

Result<std::optional<DType>> AutocastOption::dtype() const {
  for (const DType t : {DType::bf16, DType::f16})
    if (text == name_of(t)) return std::optional(t);
  if (text.empty()) return std::optional<DType>();
  return user_error("--autocast {}: expected bf16 or f16", text);
}

Status AutocastOption::apply(Graph& g, const OpRegistry& ops) const {
  CLEAVE_TRY(const std::optional<DType> lower, dtype());
  return lower ? autocast(g, ops, *lower) : Status();
}

}  // namespace cleave::tool
