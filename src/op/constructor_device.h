// The attribute `device` of operators that make a tensor out of none, as in ATen: "cuda:1", "cuda"
// (which is "cuda:0"), "cpu"; none is the CPU.
#pragma once
#include "ir/op_view.h"

namespace cleave {

// The type on the device that the attribute names. `rule` is broken by any other text.
Result<Types> made_on_device(const OpView& op, std::string_view rule, Type type);

}  // namespace cleave
