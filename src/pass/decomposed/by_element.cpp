#include "pass/decomposed/by_element.h"

#include <algorithm>

namespace cleave {

// Attributes that are lists may name dims.
bool is_by_element(const OpView& op) {
  const Trait traits = op.def().traits;
  return has(traits, Trait::pointwise) && !has(traits, Trait::random | Trait::constructor) &&
         !has(traits, Trait::effect) && op.def().schema.list_operand < 0 &&
         std::ranges::none_of(
             op.attrs().given(),
             [](const auto& given) { return given.second.template get<AttrList>(); });
}

}  // namespace cleave
