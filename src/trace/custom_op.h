// cleave's own operators as one registry that never changes: what Operators grow from, and what
// values outside of programs are made with.
#pragma once
#include "cleave/op.h"
#include "ir/op_def.h"

namespace cleave::trace {

const OpRegistry& core_registry();

}  // namespace cleave::trace
