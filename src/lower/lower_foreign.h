// Lowers a call of the host program's code: operands are row-major, results in storages of their
// own.
#pragma once
#include "lower/lowering.h"

namespace cleave {

Status lower_foreign(Lowering& lowering, NodeId n, const loop::ForeignRule& rule);

}  // namespace cleave
