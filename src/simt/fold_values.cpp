#include "simt/fold_values.h"

#include "loop/sum_blocks.h"

namespace cleave::simt {

using namespace cleave::loop;

Expr combined(ReduceOp op, const Expr& a, const Expr& b) {
  const bool is_bool = a.type() == DType::boolean;
  switch (op) {
    case ReduceOp::sum: return is_bool ? binary(Op::logical_or, a, b) : a + b;
    case ReduceOp::prod: return is_bool ? binary(Op::logical_and, a, b) : a * b;
    case ReduceOp::max: return is_bool ? binary(Op::logical_or, a, b) : binary(Op::max, a, b);
    case ReduceOp::min: return is_bool ? binary(Op::logical_and, a, b) : binary(Op::min, a, b);
    case ReduceOp::any: return binary(is_bool ? Op::logical_or : Op::bit_or, a, b);
    case ReduceOp::all: return binary(is_bool ? Op::logical_and : Op::bit_and, a, b);
  }
  return a;
}

DType total_type(const Fold& f) { return rounds(f.op, f.var.type()) ? DType::f64 : f.var.type(); }

}  // namespace cleave::simt
