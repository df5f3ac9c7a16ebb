// What folds combine, as expressions.
#pragma once
#include "loop/kernel.h"

namespace cleave::simt {

loop::Expr combined(loop::ReduceOp op, const loop::Expr& a, const loop::Expr& b);
// The type in which the sums of chunks, threads and blocks are added up: f64 where the fold rounds.
DType total_type(const loop::Fold& f);

}  // namespace cleave::simt
