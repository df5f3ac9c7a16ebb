// A call of the host program's code: operands row-major, results in memory of their own.
#pragma once
#include "lower/lowering.h"

namespace cleave {

Status lower_foreign(Lowering& lowering, NodeId n, const loop::ForeignRule& rule);

}  // namespace cleave
