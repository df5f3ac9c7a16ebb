// Table rows for operators of one operand that compute y = f(x) elementwise, one row each.
//
//   floating rows   integers and bool become f32 first (sin, exp, ...)
//   numeric rows    integers keep their dtype, bool is refused (abs, neg, floor, ...)
//   predicate rows  any dtype, bool result (isnan, isinf, logical_not)
#pragma once
#include <string>

#include "op/entry.h"
#include "op/pointwise.h"

namespace cleave {

using LowerScalar = loop::Expr (*)(const loop::Expr& x);
template <loop::Op op>
loop::Expr lower_to(const loop::Expr& x) {
  return loop::unary(op, x);
}

// y = value(x): float64 `value` for the reference, `lower` for the loops. `grad` runs in f32 for
// bf16 and f16, unless it is one node.
struct FloatRow {
  const char* name;
  const char* summary;
  double (*value)(double);
  LowerScalar lower;
  int flops;
  UnaryGrad grad;
  double lo, hi;  // range of samples: inside the domain, away from poles and kinks
  bool one_node = false;
};
OpDef float_entry(const FloatRow& row);

// Integer elements are computed by `integer` and `lower`; if `integer` is null they are copied.
struct NumericRow {
  const char* name;
  const char* summary;
  double (*value)(double);
  int64_t (*integer)(int64_t);
  LowerScalar lower;
  UnaryGrad grad;  // null: a step function, no gradient flows
};
OpDef numeric_entry(const NumericRow& row);

struct PredicateRow {
  const char* name;
  const char* summary;
  bool (*value)(double);
  bool (*integer)(int64_t);
  LowerScalar lower;
};
OpDef predicate_entry(const PredicateRow& row);

}  // namespace cleave
