// The attribute `device` of operators that create a tensor, as in ATen: "cuda:1", "cuda" (which
// means "cuda:0"), "cpu"; none means the CPU, or where the operand lies.
#pragma once
#include "ir/op_view.h"

namespace cleave {

// Returns the type on the device that the attribute names. Any other text breaks `rule`.
Result<Types> made_on_device(const OpView& op, std::string_view rule, Type type);

}  // namespace cleave
