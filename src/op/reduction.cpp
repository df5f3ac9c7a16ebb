#include "op/reduction.h"

namespace cleave {

using loop::Expr;

Result<Types> reduced_type(const OpView& op, DType dtype) {
  CLEAVE_TRY(const std::vector<int64_t> dims, checked_reduction(op));
  const Type& x = op.in_type(0);
  return Types{typed_like(x, dtype, reduced_shape(x.shape, dims, op.bool_attr("keepdim")))};
}

DType accumulator(DType t) { return is_floating(t) ? loop::compute_type(t) : DType::i64; }

Expr converted_for(Expr x, DType from, DType to) {
  if (from != to) x = loop::round_to_stored(std::move(x), to);
  return loop::cast(std::move(x), accumulator(to));
}

loop::ReductionRule reduction_rule(loop::ReduceOp op) {
  loop::ReductionRule rule;
  rule.op = op;
  rule.dims = reduction_dims;
  rule.map = [](const OpView& o, Expr x) {
    return converted_for(std::move(x), o.in_type(0).dtype, o.out_type(0).dtype);
  };
  rule.finish = [](const OpView& o, Expr folded, int64_t) {
    return loop::cast(std::move(folded), loop::compute_type(o.out_type(0).dtype));
  };
  return rule;
}

Array fold_lines(const OpView& op, const Array& x, DType result, const FoldFloat& floating,
                 const FoldInteger& integer) {
  const std::vector<bool> folded = folded_dims(op, x);
  Array y(result, kept_shape(x.shape, folded, op.bool_attr("keepdim")));
  for_each_line(x.shape, folded, [&](int64_t k, const std::vector<int64_t>& line) {
    if (x.floating())
      y.set(k, floating(x, line));
    else
      y.set_int(k, integer(x, line));
  });
  return y;
}

ValueId kept_dout(Builder& b, const GradView& op, const std::vector<int64_t>& dims) {
  return with_kept_dims(b, op.dout(0), op.in_type(0).shape, dims);
}

ValueId kept_out(Builder& b, const GradView& op, const std::vector<int64_t>& dims) {
  return with_kept_dims(b, op.out(0), op.in_type(0).shape, dims);
}

std::vector<Sample> fold_samples(DType t) {
  const std::vector<int64_t> none;
  return {{{any_of(t, {2, 3})}},
          {{any_of(t, {2, 3})}, {{"dim", {1}}}},
          {{any_of(t, {3, 2})}, {{"dim", {0}}, {"keepdim", true}}},
          {{any_of(t, {2, 3, 4})}, {{"dim", {0, -1}}}},
          {{any_of(t, {2, 3, 4})}, {{"dim", {-2}}, {"keepdim", true}}},
          {{any_of(t, {2, 2})}, {{"dim", {1, 0}}, {"keepdim", true}}},
          {{any_of(t, {3, 20})}, {{"dim", {0}}}},
          {{any_of(t, {2, 37})}, {{"dim", {1}}}},
          {{any_of(t, {})}},
          {{any_of(t, {})}, {{"dim", {-1}}}},
          {{any_of(t, {0, 2})}, {{"dim", {1}}}}};
}

}  // namespace cleave
