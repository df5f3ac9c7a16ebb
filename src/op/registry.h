// The built-in operators of cleave: the entries of every file in src/op.
//
//   CLEAVE_TRY(OpRegistry ops, core_ops());
//   CLEAVE_CHECK(ops.add(my_operator));      // the host program's own operator
//
// Errors: Bug if an entry's signature doesn't parse or a name occurs twice.
#pragma once
#include "base/result.h"
#include "ir/op_def.h"

namespace cleave {

Result<OpRegistry> core_ops();

}  // namespace cleave
