// The negative log likelihood of classes, and its gradient.
//
// nll_loss_forward(self, target, weight; reduction, ignore_index) -> y, total_weight
//   self    float[n,c] or [c]      log probabilities
//   target  i64 or u8 [n] or []    classes in [0, c), or ignore_index; another value is an error
//   weight  float[c]               1 where absent
//   y[i] = -weight[target[i]] * self[i,target[i]], 0 where ignored
//   reduction 0: y [n]    1: sum(y) / total_weight    2: sum(y)
//   total_weight []  the sum of weight[target[i]]; 0 for reduction 0 of [n,c]; no gradient
//
// nll_loss_backward(grad_output, self, target, weight; reduction, ignore_index, total_weight) -> dx
//   grad_output  [n] for reduction 0 of [n,c], else []
//   dx[i,target[i]] = -weight[target[i]] * grad_output[i], for reduction 1 divided by total_weight;
//   0 elsewhere and where ignored
//
//   (C1) self is floating and has rank 1 or 2   (C2) target is i64 or u8 with one dim less, or one
//   class for rank 1 (C3) weight is [c] of self's dtype   (C4) reduction is 0, 1 or 2
//   (C5) operands are on one device   (C6) grad_output has the shape of y, total_weight is []
//   (C7) self has a class; PyTorch takes none where every target is ignored
//
// With reduction 1, ignoring all rows gives 0 / 0, NaN, as in PyTorch. Sums are in f32 (f64).
#include <cmath>

#include "op/broadcast.h"
#include "op/cost.h"
#include "op/dims.h"
#include "op/entry.h"
#include "op/index_rules.h"
#include "op/kernel_loops.h"
#include "op/reference_sum.h"
#include "op/sample_sets.h"
#include "op/wide_grad.h"

namespace cleave {
namespace {

using loop::Expr;
using loop::Exprs;
using loop::KernelBuilder;

enum Reduction : int64_t { none = 0, mean = 1, sum = 2 };

// Operand positions: self is 0 in the forward and 1 in the backward.
struct Operands {
  int self;
  int target() const { return self + 1; }
  int weight() const { return self + 2; }
};
constexpr Operands forward{0}, backward{1};

Status check_operands(const OpView& op, Operands at) {
  const Type &x = op.in_type(at.self), &target = op.in_type(at.target());
  if (!is_floating(x.dtype) || x.rank() < 1 || x.rank() > 2)
    return op.broken("C1", "self is {}, expected a floating dtype and rank 1 or 2", x.text());
  if (target.dtype != DType::i64 && target.dtype != DType::u8)
    return op.broken("C2", "target is {}, expected i64 or u8", target.text());
  if (x.rank() == 2) {
    CLEAVE_CHECK(
        check_same_shape(op, "C2", "rows of self and dims of target", {x.shape[0]}, target.shape));
  } else if (target.rank() > 1 || !op.env().provably_equal(target.numel(), Dim(1))) {
    return op.broken("C2", "target is {}, expected one class for self: {}", target.text(),
                     x.text());
  }
  if (op.has(at.weight())) {
    const Type& weight = op.in_type(at.weight());
    CLEAVE_CHECK(
        check_same_shape(op, "C3", "weight and classes of self", weight.shape, {x.shape.back()}));
    CLEAVE_CHECK(check_same_dtype(op, "C3", at.weight(), at.self));
  }
  if (op.env().range_of(x.shape.back()).lo < 1)
    return op.broken("C7", "self is {}, expected at least one class", x.text());
  const int64_t reduction = op.int_attr("reduction");
  if (reduction < none || reduction > sum)
    return op.broken("C4", "reduction is {}, expected 0, 1 or 2", reduction);
  return {};
}

bool by_row(const OpView& op, Operands at) {
  return op.int_attr("reduction") == none && op.in_type(at.self).rank() == 2;
}

Result<Types> infer_forward(const OpView& op) {
  CLEAVE_CHECK(check_operands(op, forward));
  CLEAVE_CHECK(common_device(op, "C5", {0, 1, 2}));
  const Type& x = op.in_type(0);
  const Shape y = by_row(op, forward) ? Shape{x.shape[0]} : Shape{};
  return Types{typed_like(x, x.dtype, y), typed_like(x, x.dtype, {})};
}

Result<Types> infer_backward(const OpView& op) {
  CLEAVE_CHECK(check_operands(op, backward));
  CLEAVE_CHECK(common_device(op, "C5", {0, 1, 2, 3, 4}));
  const Type& x = op.in_type(1);
  const Shape y = by_row(op, backward) ? Shape{x.shape[0]} : Shape{};
  CLEAVE_CHECK(check_same_shape(op, "C6", "grad_output and the loss", op.in_type(0).shape, y));
  if (op.in_type(4).rank() != 0)
    return op.broken("C6", "total_weight is {}, expected rank 0", op.in_type(4).text());
  return Types{typed_like(x, x.dtype, x.shape)};
}

// Reference: the class of each row, -1 if it is ignored.
Result<std::vector<int64_t>> classes(const OpView& op, const Array& target, int64_t count) {
  std::vector<int64_t> out;
  for (int64_t t : target.i) {
    if (t == op.int_attr("ignore_index")) {
      out.push_back(-1);
      continue;
    }
    CLEAVE_TRY(const int64_t c, index_in_range(op, "target", t, count, NegativeIndex::refused));
    out.push_back(c);
  }
  return out;
}

Result<Arrays> reference_forward(const OpView& op, std::span<const Array* const> in) {
  const Array& x = *in[0];
  const int64_t count = x.shape.back();
  CLEAVE_TRY(const std::vector<int64_t> of_row, classes(op, *in[1], count));
  Array y(x.dtype, static_shape(op.out_type(0))), total(x.dtype, {});
  const bool rows = by_row(op, forward);
  ReferenceSums sums(y.f.size());
  ReferenceSum weights;
  for (size_t i = 0; i < of_row.size(); ++i) {
    if (of_row[i] < 0) continue;
    const double w = op.has(2) ? in[2]->f[of_row[i]] : 1;
    sums[rows ? i : 0] -= w * x.f[static_cast<int64_t>(i) * count + of_row[i]];
    if (!rows) weights += w;
  }
  y.f = rounded(sums);
  total.f[0] = weights;
  if (op.int_attr("reduction") == mean) y.f[0] /= total.f[0];
  return Arrays{std::move(y), std::move(total)};
}

Result<Arrays> reference_backward(const OpView& op, std::span<const Array* const> in) {
  const Array &g = *in[0], &x = *in[1];
  const int64_t count = x.shape.back();
  CLEAVE_TRY(const std::vector<int64_t> of_row, classes(op, *in[2], count));
  Array dx(x.dtype, x.shape);
  const bool rows = by_row(op, backward);
  for (size_t i = 0; i < of_row.size(); ++i) {
    if (of_row[i] < 0) continue;
    double d = -g.f[rows ? i : 0] * (op.has(3) ? in[3]->f[of_row[i]] : 1);
    if (op.int_attr("reduction") == mean) d /= in[4]->f[0];
    dx.f[static_cast<int64_t>(i) * count + of_row[i]] = d;
  }
  return Arrays{std::move(dx)};
}

// The call as rows: self [n,c], target [n,1] with 0 if ignored, and which rows count.
struct Rows {
  ValueId self, target, counted, weight;  // counted bool[n,1], weight [n,1]
  Shape column;                           // [n,1]
};

Rows rows_of(Builder& b, const OpView& op, Operands at) {
  Rows r;
  const Type& x = op.in_type(at.self);
  const Dim n = x.rank() == 2 ? x.shape[0] : Dim(1), classes = x.shape.back();
  r.column = {n, 1};
  r.self = x.rank() == 2 ? op.in(at.self) : b.view(op.in(at.self), {n, classes});
  const ValueId target = b.view(op.in(at.target()), r.column);
  r.counted = b.ne(b.convert(target, DType::i64), AttrValue(op.dim_attr("ignore_index")));
  r.target = b.call1("class_index", {target},
                     {{"classes", classes},
                      {"ignore_index", op.dim_attr("ignore_index")},
                      {"what", op.name() + ": target"}});
  r.weight =
      op.has(at.weight())
          ? b.call1("gather",
                    {b.expand(b.view(op.in(at.weight()), {1, classes}), {n, classes}), r.target},
                    {{"dim", 1}})
          : b.full(r.column, 1, x.dtype);
  r.weight = b.where(r.counted, r.weight, 0.0);
  return r;
}

Values decompose_forward(Builder& b, const OpView& op) {
  const Rows r = rows_of(b, op, forward);
  const ValueId picked =
      b.where(r.counted, b.call1("gather", {r.self, r.target}, {{"dim", 1}}), 0.0);
  const DType t = op.out_type(0).dtype;
  if (by_row(op, forward))
    return {b.view(b.neg(b.mul(picked, r.weight)), op.out_type(0).shape), b.full({}, 0, t)};
  // Wide: a mean is in f16's range where the sum isn't.
  const ValueId weight = b.convert(r.weight, wide(t));
  const ValueId total = b.sum(weight, {0, 1});
  const ValueId all = b.sum(b.neg(b.mul(b.convert(picked, wide(t)), weight)), {0, 1});
  const ValueId y = op.int_attr("reduction") == mean ? b.div(all, total) : all;
  return {b.convert(y, t), b.convert(total, t)};
}

Values decompose_backward(Builder& b, const OpView& op) {
  const Rows r = rows_of(b, op, backward);
  const Type& x = op.in_type(1);
  ValueId g = by_row(op, backward) ? b.view(op.in(0), r.column) : op.in(0);
  if (op.int_attr("reduction") == mean) g = b.div(g, op.in(4));
  g = b.where(r.counted, b.neg(b.mul(r.weight, g)), 0.0);
  const ValueId into = b.full({r.column[0], x.shape.back()}, 0, x.dtype);
  const ValueId dx = b.call1("scatter", {into, r.target, g}, {{"dim", 1}});
  return {x.rank() == 2 ? dx : b.view(dx, x.shape)};
}

CallOperand or_none(const OpView& op, int k) { return op.has(k) ? op.in(k) : ValueId::none(); }

// v[n,1] summed by class: [c].
ValueId by_class(Builder& b, const Rows& r, ValueId v, const Type& weight) {
  return b.call1("index_put",
                 {zeros(b, weight), Values{b.view(r.target, {r.column[0]})},
                  b.view(b.where(r.counted, v, 0.0), {r.column[0]})},
                 {{"accumulate", true}});
}

// dweight[k] = sum over rows of class k of g * -x, for the mean g * (-x - y) / total_weight
ValueId grad_of_weight(Builder& b, const GradView& op) {
  const Rows r = rows_of(b, op, forward);
  ValueId v = b.neg(b.call1("gather", {r.self, r.target}, {{"dim", 1}}));
  if (op.int_attr("reduction") == mean) v = b.div(b.sub(v, op.out(0)), op.out(1));
  const ValueId g = by_row(op, forward) ? b.view(op.dout(0), r.column) : op.dout(0);
  return by_class(b, r, b.mul(v, g), op.in_type(2));
}

Values grad_forward(Builder& b, const GradView& op) {
  Values d = op.no_grads();
  if (op.dout(0).is_none()) return d;
  if (op.needs(0))
    d[0] = b.call1(
        "nll_loss_backward", {op.dout(0), op.in(0), op.in(1), or_none(op, 2), op.out(1)},
        {{"reduction", op.int_attr("reduction")}, {"ignore_index", op.dim_attr("ignore_index")}});
  if (op.has(2) && op.needs(2)) d[2] = grad_of_weight(b, op);
  return d;
}

// dx[i,k] = -weight * g / total_weight at k = target[i] is linear in weight and in g; e is -dout.
Values grad_backward(Builder& b, const GradView& op) {
  Values d = op.no_grads();
  if (op.dout(0).is_none()) return d;
  const Rows r = rows_of(b, op, backward);
  const bool rows = by_row(op, backward), divided = op.int_attr("reduction") == mean;
  const ValueId dout = b.view(op.dout(0), {r.column[0], op.in_type(1).shape.back()});
  ValueId e = b.neg(b.call1("gather", {dout, r.target}, {{"dim", 1}}));
  if (divided) e = b.where(r.counted, b.div(e, op.in(4)), 0.0);
  const ValueId to_g = b.where(r.counted, b.mul(e, r.weight), 0.0);
  const ValueId g = rows ? b.view(op.in(0), r.column) : op.in(0);
  if (op.needs(0)) d[0] = rows ? b.view(to_g, op.in_type(0).shape) : b.sum(to_g, {0, 1});
  if (op.has(3) && op.needs(3)) d[3] = by_class(b, r, b.mul(e, g), op.in_type(3));
  if (divided && op.needs(4)) {
    const ValueId by_total = b.neg(b.div(b.mul(to_g, g), op.in(4)));
    d[4] = b.sum(b.where(r.counted, by_total, 0.0), {0, 1});
  }
  return d;
}

// One row: its target, which has been checked before.
struct Row {
  Expr target, counted;
};

Row row_at(KernelBuilder& k, const OpView& op, Operands at, const Expr& i) {
  const bool scalar = k.operand(at.target()).layout.shape.empty();
  const Expr t = cast(k.load(at.target(), scalar ? Exprs{} : Exprs{i}), DType::i64);
  return {t, binary(loop::Op::ne, t, Expr(op.int_attr("ignore_index")))};
}

int64_t class_count(const KernelBuilder& k, Operands at) {
  return k.operand(at.self).layout.shape.back();
}

// weight[target], 0 if ignored.
Expr weight_of(KernelBuilder& k, Operands at, const Row& row) {
  const DType t = loop::compute_type(k.operand(at.self).dtype);
  const Expr safe = select(row.counted, row.target, Expr(0));
  const Expr w = k.has(at.weight()) ? k.load(at.weight(), {safe}) : loop::constant(t, 1);
  return select(row.counted, w, loop::constant(t, 0));
}

// An ignored row reads class 0, which always exists.
Exprs lower_backward(KernelBuilder& k, const OpView& op, const Exprs& index) {
  const bool matrix = k.operand(1).layout.shape.size() == 2;
  const Row row = row_at(k, op, backward, matrix ? index[0] : Expr(0));
  const Expr target = checked_index(k, op, "target", select(row.counted, row.target, Expr(0)),
                                    class_count(k, backward), NegativeIndex::refused);
  Expr d = -(weight_of(k, backward, {target, row.counted}) *
             k.load(0, by_row(op, backward) ? Exprs{index[0]} : Exprs{}));
  if (op.int_attr("reduction") == mean) d = d / k.load(4, {});
  const Expr here =
      binary(loop::Op::logical_and, row.counted, binary(loop::Op::eq, index.back(), target));
  return {select(here, d, loop::constant(d.type(), 0))};
}

SampleAttrs attrs(int64_t reduction, int64_t ignore = -100) {
  return {{"reduction", reduction}, {"ignore_index", ignore}};
}

constexpr std::nullopt_t none_operand = std::nullopt;

Samples forward_samples() {
  const SampleTensor t5 = i64({5}).range(0, 3);
  SampleTensor bytes = sample(DType::u8, {5}).range(0, 3);
  Samples out;
  for (DType t : floating_dtypes) out.push_back({{any_of(t, {5, 3}), t5}, attrs(mean)});
  for (int64_t r : {none, mean, sum}) {
    out.push_back({{f32({5, 3}), t5, f32({3}).range(0.5, 2)}, attrs(r, 1)});
    out.push_back({{f32({3}), i64({}).range(0, 3)}, attrs(r)});
    out.push_back({{f32({3}), i64({1}).with({2}), f32({3})}, attrs(r, 2)});
    out.push_back({{f32({0, 3}), i64({0})}, attrs(r)});
  }
  out.push_back({{f32({5, 3}), bytes}, attrs(sum)});
  out.push_back({{f32({3, 3}), i64({3}).with({-7, 0, 2})}, attrs(mean, -7)});
  out.push_back({{f32({3, 3}), i64({3}).with({1, 1, 1})}, attrs(mean, 1)});
  out.push_back({{bf16({70, 9}), i64({70}).range(0, 9)}, attrs(mean, 4)});
  out.push_back({{f16({992, 2}).range(-130, -120), i64({992}).range(0, 2)}, attrs(mean)});
  return out;
}

Rejects forward_rejects() {
  const SampleTensor t5 = i64({5}).range(0, 3);
  const SampleTensor x = f32({5, 3});
  return {
      {"C1",
       {{f32({2, 5, 3}), t5}, attrs(mean)},
       "nll_loss_forward: C1: self is f32[2,5,3], expected a floating dtype and rank 1 or 2"},
      {"C7",
       {{f32({5, 0}), t5}, attrs(mean)},
       "nll_loss_forward: C7: self is f32[5,0], expected at least one class"},
      {"C2",
       {{x, i32({5})}, attrs(mean)},
       "nll_loss_forward: C2: target is i32[5], expected i64 or u8"},
      {"C2",
       {{x, i64({4})}, attrs(mean)},
       "nll_loss_forward: C2: rows of self and dims of target: [5] and [4], expected equal "
       "shapes"},
      {"C2",
       {{f32({3}), i64({4})}, attrs(mean)},
       "nll_loss_forward: C2: target is i64[4], expected one class for self: f32[3]"},
      {"C3",
       {{x, t5, f32({2})}, attrs(mean)},
       "nll_loss_forward: C3: weight and classes of self: [2] and [3], expected equal "
       "shapes"},
      {"C3",
       {{x, t5, f64({3})}, attrs(mean)},
       "nll_loss_forward: C3: weight is f64[3], expected the dtype of self: f32"},
      {"C4", {{x, t5}, attrs(3)}, "nll_loss_forward: C4: reduction is 3, expected 0, 1 or 2"},
      {"C5",
       {{x, on_cuda(t5)}, attrs(mean)},
       "nll_loss_forward: C5: self is f32[5,3] and target is i64[5]@cuda:0, expected one device"},
      {"target",
       {{x, i64({5}).with({0, 1, 3})}, attrs(mean)},
       "nll_loss_forward: target: index 3 is out of range [0, 3)"},
      {"target",
       {{x, i64({5}).with({0, 1, -1})}, attrs(none)},
       "nll_loss_forward: target: index -1 is out of range [0, 3)"}};
}

OpDef nll_loss_forward() {
  return OpDef{
      .name = "nll_loss_forward",
      .signature =
          "(Tensor self, Tensor target, Tensor? weight, int reduction, "
          "SymInt ignore_index) -> (Tensor, Tensor)",
      .summary = "The negative log likelihood of classes: by row, averaged or summed.",
      .source = "aten::nll_loss_forward, PyTorch 2.13",
      .traits = Trait::recomputable | Trait::data_dependent,
      .infer = infer_forward,
      .reference = reference_forward,
      .decompose = decompose_forward,
      .grad = grad_forward,
      .lower = loop::by_decomposition(),
      .cost = cost_per_operand(1),
      .samples = forward_samples,
      .rejects = forward_rejects,
      .nondifferentiable = 1 << 1,
  };
}

OpDef nll_loss_backward() {
  const SampleTensor t5 = i64({5}).range(0, 3), total = f32({}).range(2, 3);
  const auto samples = [t5, total] {
    Samples out;
    for (DType t : floating_dtypes)
      out.push_back({{any_of(t, {}), any_of(t, {5, 3}), t5, none_operand, sample(t, {}).with({3})},
                     attrs(mean, 1)});
    for (int64_t r : {mean, sum}) {
      out.push_back({{f32({}), f32({5, 3}), t5, f32({3}).range(0.5, 2), total}, attrs(r, 1)});
      out.push_back({{f32({}), f32({3}), i64({1}).with({2}), none_operand, total}, attrs(r)});
      out.push_back({{f32({}), f32({0, 3}), i64({0}), none_operand, total}, attrs(r)});
    }
    out.push_back({{f32({5}), f32({5, 3}), t5, f32({3}), total}, attrs(none, 0)});
    out.push_back({{f32({}), f32({3}), i64({}).range(0, 3), none_operand, total}, attrs(none)});
    return out;
  };
  const SampleTensor x = f32({5, 3}), g = f32({});
  return OpDef{
      .name = "nll_loss_backward",
      .signature =
          "(Tensor grad_output, Tensor self, Tensor target, Tensor? weight, int reduction, "
          "SymInt ignore_index, Tensor total_weight) -> Tensor",
      .summary = "The gradient of nll_loss_forward.",
      .source = "aten::nll_loss_backward, PyTorch 2.13",
      .traits = Trait::recomputable | Trait::data_dependent,
      .infer = infer_backward,
      .reference = reference_backward,
      .decompose = decompose_backward,
      .grad = grad_backward,
      .lower = loop::elementwise(lower_backward, true),
      .cost = cost_per_result(1),
      .samples = samples,
      .rejects = [g, t5, total, x]() -> Rejects {
        return {
            {"C1",
             {{g, i64({5, 3}), t5, none_operand, total}, attrs(mean)},
             "nll_loss_backward: C1: self is i64[5,3], expected a floating dtype and rank 1 or 2"},
            {"C7",
             {{g, f32({5, 0}), t5, none_operand, total}, attrs(mean)},
             "nll_loss_backward: C7: self is f32[5,0], expected at least one class"},
            {"C5",
             {{g, x, t5, none_operand, on_cuda(f32({1}))}, attrs(mean)},
             "nll_loss_backward: C5: self is f32[5,3] and total_weight is f32[1]@cuda:0, expected "
             "one device"},
            {"C6",
             {{f32({5}), x, t5, none_operand, total}, attrs(mean)},
             "nll_loss_backward: C6: grad_output and the loss: [5] and [], expected equal shapes"},
            {"C6",
             {{g, x, t5, none_operand, f32({1})}, attrs(mean)},
             "nll_loss_backward: C6: total_weight is f32[1], expected rank 0"},
            {"target",
             {{g, x, i64({5}).with({0, 1, 3}), none_operand, total}, attrs(mean)},
             "nll_loss_backward: target: index 3 is out of range [0, 3)"}};
      },
  };
}

}  // namespace

CLEAVE_OPS(nll_loss) { return {nll_loss_forward(), nll_loss_backward()}; }

}  // namespace cleave
