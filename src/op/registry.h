// The operators that cleave brings along: the entries of every file in src/op.
//
//   CLEAVE_TRY(OpRegistry ops, core_ops());
//   CLEAVE_CHECK(ops.add(my_operator));      // a host program's own
//
// Errors: Bug where an entry's signature does not parse or a name occurs twice.
#pragma once
#include "base/result.h"
#include "ir/op_def.h"

namespace cleave {

Result<OpRegistry> core_ops();

}  // namespace cleave
