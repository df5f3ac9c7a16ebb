// The immutable registry of cleave's own operators: Operators are copies of it with additions, and
// values outside programs are made with it.
#pragma once
#include "cleave/op.h"
#include "ir/op_def.h"

namespace cleave::trace {

const OpRegistry& core_registry();

}  // namespace cleave::trace
