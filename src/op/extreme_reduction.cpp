// amax(self; dim, keepdim)    the largest element over dims, NaN if any is NaN
// amin(self; dim, keepdim)    the smallest
//   (C1) dims in range  (C2) each once  (C3) every folded dim has an element
// argmax(self; dim, keepdim)  position of the largest: the first of equal ones, or the first NaN;
// argmin(self; dim, keepdim)  without dim, a position in the row-major order of self
//   (C1) dim in range  (C3) every folded dim has an element  (C4) self is not bool
//
// The gradient of amax and amin is divided equally among the elements that tie.
#include <cmath>
#include <limits>

#include "op/reduction.h"

namespace cleave {
namespace {

using loop::Expr;
using loop::Exprs;

// (C3): some element for each result; a symbolic size is accepted, and checked when it has a value.
Status check_not_empty(const OpView& op) {
  const Type& x = op.in_type(0);
  for (int64_t d : reduction_dims(op))
    if (op.env().range_of(x.shape[d]).hi == 0)
      return op.broken("C3", "dim {} of self: {} is folded and empty, expected an element", d,
                       x.text());
  return {};
}

Result<Types> infer_extreme(const OpView& op) {
  CLEAVE_TRY(Types y, reduced_type(op, op.in_type(0).dtype));
  CLEAVE_CHECK(check_not_empty(op));
  return y;
}

// ---- amax, amin

ReferenceFn reference_extreme(bool largest) {
  return [largest](const OpView& op, std::span<const Array* const> in) -> Result<Arrays> {
    const auto better = [largest](auto a, auto b) { return largest ? a > b : a < b; };
    const auto floats = [&](const Array& x, const std::vector<int64_t>& line) {
      double best = x.f[line[0]];
      for (int64_t at : line) {
        if (std::isnan(x.f[at])) return x.f[at];
        if (better(x.f[at], best)) best = x.f[at];
      }
      return best;
    };
    const auto integers = [&](const Array& x, const std::vector<int64_t>& line) {
      int64_t best = x.i[line[0]];
      for (int64_t at : line)
        if (better(x.i[at], best)) best = x.i[at];
      return best;
    };
    return Arrays{fold_lines(op, *in[0], in[0]->dtype, floats, integers)};
  };
}

Values grad_extreme(Builder& b, const GradView& op) {
  const Type& x = op.in_type(0);
  const std::vector<int64_t> dims = reduction_dims(op);
  if (dims.empty()) return {op.dout(0)};
  const ValueId d = kept_dout(b, op, dims), y = kept_out(b, op, dims);
  const ValueId hit = b.convert(b.eq(op.in(0), y), x.dtype);
  return {b.mul(b.div(hit, b.sum(hit, dims, true)), d)};
}

loop::ReductionRule extreme_rule(loop::ReduceOp op) {
  loop::ReductionRule rule;
  rule.op = op;
  rule.dims = reduction_dims;
  rule.map = [](const OpView&, Expr x) {
    return x.type() == DType::boolean ? loop::cast(x, DType::i32) : x;
  };
  rule.finish = [](const OpView& o, Expr folded, int64_t) {
    return loop::cast(std::move(folded), loop::compute_type(o.out_type(0).dtype));
  };
  return rule;
}

OpDef extreme(const std::string& name, bool largest) {
  return OpDef{
      .name = name,
      .signature = "(Tensor self, int[1] dim=[], bool keepdim=False) -> Tensor",
      .summary = fmt::format("The {} element over dims.", largest ? "largest" : "smallest"),
      .source = fmt::format("aten::{}, PyTorch 2.13", name),
      .traits = reduction_traits,
      .infer = infer_extreme,
      .reference = reference_extreme(largest),
      .decompose = Absent{"a primitive reduction"},
      .grad = grad_extreme,
      .lower = loop::reduction(extreme_rule(largest ? loop::ReduceOp::max : loop::ReduceOp::min)),
      .cost = cost_per_operand(1),
      .samples =
          [largest] {
            const double infinite = largest ? -INFINITY : INFINITY;
            return joined({fold_samples(DType::f32),
                           fold_samples(DType::i64),
                           over_dtypes(all_dtypes, {3, 4}, {{"dim", {0}}}),
                           {{{i64({3, 4}).range(0, 3)}, {{"dim", {1}}}},
                            {{f32({2, 3}).with({1, NAN, 3, 4, 5, 6})}, {{"dim", {1}}}},
                            {{f32({2, 20}).with({NAN, 1, 2})}, {{"dim", {0}}}},
                            {{f32({3}).with({infinite, infinite, infinite})}},
                            {{sample(DType::u8, {3}).range(0, 200)}}}});
          },
      .rejects = [=]() -> Rejects {
        return {{"C1",
                 {{f32({2, 3})}, {{"dim", {-3}}}},
                 name + ": C1: dim -3 is outside [-2, 2) of self: f32[2,3]"},
                {"C2",
                 {{f32({2, 3})}, {{"dim", {0, 0}}}},
                 name + ": C2: dim 0 is named twice in [0,0], expected once"},
                {"C3",
                 {{f32({0, 3})}, {{"dim", {0}}}},
                 name + ": C3: dim 0 of self: f32[0,3] is folded and empty, expected an element"},
                {"C3",
                 {{f32({0})}},
                 name + ": C3: dim 0 of self: f32[0] is folded and empty, expected an element"}};
      },
  };
}

// ---- argmax, argmin

Result<Types> infer_position(const OpView& op) {
  CLEAVE_TRY(Types y, reduced_type(op, DType::i64));
  if (op.in_type(0).dtype == DType::boolean)
    return op.broken("C4", "self is {}, expected numbers", op.in_type(0).text());
  CLEAVE_CHECK(check_not_empty(op));
  return y;
}

ReferenceFn reference_position(bool largest) {
  return [largest](const OpView& op, std::span<const Array* const> in) -> Result<Arrays> {
    const Array& x = *in[0];
    const std::vector<bool> folded = folded_dims(op, x);
    Array y(DType::i64, kept_shape(x.shape, folded, op.bool_attr("keepdim")));
    for_each_line(x.shape, folded, [&](int64_t k, const std::vector<int64_t>& line) {
      size_t best = 0;
      for (size_t j = 1; j < line.size(); ++j)
        if (beats(x, line[j], line[best], largest)) best = j;
      y.i[k] = static_cast<int64_t>(best);
    });
    return Arrays{y};
  };
}

// The least position of those whose element is the extreme one, or NaN: two folds that run in
// vectors, with all that is fused around them.
Values decompose_position(Builder& b, const OpView& op, bool largest) {
  const Type& t = op.in_type(0);
  const bool of_all = op.attr("dim").is_none(), keepdim = op.bool_attr("keepdim");
  ValueId x = op.in(0);
  if (t.rank() == 0) x = b.view(x, {1});
  if (of_all && t.rank() > 1) x = b.view(x, {t.numel()});
  const Shape shape = b.type(x).shape;
  const std::vector<int64_t> dim = {of_all || t.rank() == 0 ? 0 : reduction_dims(op)[0]};
  const Dim& n = shape[static_cast<size_t>(dim[0])];
  const ValueId best = b.call1(largest ? "amax" : "amin", {x}, {{"dim", dim}, {"keepdim", true}});
  ValueId hit = b.eq(x, best);
  if (is_floating(t.dtype)) hit = b.logical_or(hit, b.call1("isnan", {x}));
  constexpr int64_t most = std::numeric_limits<int32_t>::max();
  const DType counted = n.is_const() && n.value() <= most ? DType::i32 : DType::i64;
  Shape line(shape.size(), 1);
  line[static_cast<size_t>(dim[0])] = n;
  const ValueId place = b.view(b.call1("arange", {}, {{"end", n}, {"dtype", counted}}), line);
  const int64_t behind = counted == DType::i32 ? most : std::numeric_limits<int64_t>::max();
  const ValueId first = b.call1("amin", {b.where(hit, place, AttrValue(behind))},
                                {{"dim", dim}, {"keepdim", keepdim && !of_all}});
  const ValueId out = b.convert(first, DType::i64);
  return {b.view(out, op.out_type(0).shape)};
}

std::vector<Sample> position_samples(DType t) {
  return {{{any_of(t, {2, 3})}},
          {{any_of(t, {2, 3})}, {{"dim", 1}}},
          {{any_of(t, {3, 2})}, {{"dim", 0}, {"keepdim", true}}},
          {{any_of(t, {2, 3, 4})}, {{"dim", -2}}},
          {{any_of(t, {2, 3})}, {{"keepdim", true}}},
          {{any_of(t, {3, 4}).ties(2)}, {{"dim", 1}}},
          {{any_of(t, {2, 2}).ties(1)}},
          {{any_of(t, {})}},
          {{any_of(t, {})}, {{"dim", 0}}},
          {{any_of(t, {0, 2})}, {{"dim", 1}}}};
}

OpDef position(const std::string& name, bool largest) {
  return OpDef{
      .name = name,
      .signature = "(Tensor self, int? dim=None, bool keepdim=False) -> Tensor",
      .summary = fmt::format("Where the {} element is.", largest ? "largest" : "smallest"),
      .source = fmt::format("aten::{}, PyTorch 2.13", name),
      .traits = Trait::reduction | Trait::recomputable,
      .infer = infer_position,
      .reference = reference_position(largest),
      .decompose = [largest](Builder& b,
                             const OpView& op) { return decompose_position(b, op, largest); },
      .grad = Absent{"the result is an integer"},
      .lower = loop::by_decomposition(),
      .cost = cost_per_operand(2),
      .samples =
          [] {
            return joined({position_samples(DType::f32),
                           position_samples(DType::i64),
                           over_dtypes({DType::f64, DType::bf16, DType::f16, DType::i32}, {3, 4},
                                       {{"dim", 0}}),
                           {{{f32({5}).with({1, NAN, 3, NAN, 9})}},
                            {{f32({2, 2}).with({NAN, 1, 2, NAN})}, {{"dim", 0}}},
                            {{f32({3}).with({-INFINITY, -INFINITY, INFINITY})}},
                            {{sample(DType::u8, {4}).with({200, 100, 250, 3})}}}});
          },
      .rejects = [=]() -> Rejects {
        return {{"C1",
                 {{f32({2, 3})}, {{"dim", 2}}},
                 name + ": C1: dim 2 is outside [-2, 2) of self: f32[2,3]"},
                {"C3",
                 {{f32({0, 3})}, {{"dim", 0}}},
                 name + ": C3: dim 0 of self: f32[0,3] is folded and empty, expected an element"},
                {"C4", {{boolean({2})}}, name + ": C4: self is bool[2], expected numbers"}};
      },
  };
}

}  // namespace

CLEAVE_OPS(extreme_reduction) {
  return {extreme("amax", true), extreme("amin", false), position("argmax", true),
          position("argmin", false)};
}

}  // namespace cleave
