// A copy of self in which one part is replaced by src.
//
// slice_scatter(self, src; dim, start, end, step)   y = self, but y[slice] = src
//   (C1..C4) as slice   (C5) src has the shape of the slice
// select_scatter(self, src; dim, index)             y = self, but y[select] = src
//   (C1..C3) as select  (C4) src has self's shape without the dim
// src is converted to self's dtype.
#include "op/cost.h"
#include "op/entry.h"
#include "op/reference_lines.h"
#include "op/sample_sets.h"
#include "op/window.h"

namespace cleave {
namespace {

using loop::Expr;
using loop::Exprs;

// ---- slice_scatter

Result<Types> infer_slice_scatter(const OpView& op) {
  CLEAVE_TRY(const Window w, checked_window(op));
  const Type& x = op.in_type(0);
  CLEAVE_CHECK(check_same_shape(op, "C5", "src and the slice of self", op.in_type(1).shape,
                                with_size(x.shape, w.dim, w.size)));
  return Types{typed_like(x, x.dtype, x.shape)};
}

Result<Arrays> reference_slice_scatter(const OpView& op, std::span<const Array* const> in) {
  Array y = *in[0];
  const Array& src = *in[1];
  const int64_t given = op.int_attr("dim"), dim = given < 0 ? given + y.rank() : given;
  const int64_t size = y.shape[dim], step = op.int_attr("step");
  int64_t start = op.int_attr("start");
  if (start < 0) start = std::max<int64_t>(start + size, 0);
  move_into(y, src, [&](std::vector<int64_t> at) {
    const int64_t i = at[dim] - start;
    if (i < 0 || i % step != 0 || i / step >= src.shape[dim]) return int64_t{-1};
    at[dim] = i / step;
    return position_of(at, src.shape);
  });
  return Arrays{y};
}

NamedAttrs slice_attrs(const Window& w) {
  return {{"dim", w.dim},
          {"start", w.start},
          {"end", w.start + w.size * Dim(w.step)},
          {"step", w.step}};
}

Values grad_slice_scatter(Builder& b, const GradView& op) {
  const Window w = window_of(op);
  const Type& src = op.in_type(1);
  const NamedAttrs attrs = slice_attrs(w);
  Values out = op.no_grads();
  if (op.needs(0)) out[0] = b.call1("slice_scatter", {op.dout(0), zeros(b, src)}, attrs);
  if (op.needs(1))
    out[1] = b.move(b.convert(b.call1("slice", {op.dout(0)}, attrs), src.dtype), src.device);
  return out;
}

// Both arms are loaded: an index outside is clamped first.
Exprs lower_slice_scatter(loop::KernelBuilder& k, const OpView& op, const Exprs& index) {
  const Window w = window_of(op);
  const DType t = op.out_type(0).dtype;
  if (w.step == 1 && w.size == op.in_type(0).shape[w.dim])
    return {round_to_stored(k.load(1, index), t)};
  const Expr self = k.load(0, index);
  if (w.size.value() == 0) return {self};
  const Expr i = index[w.dim] - Expr(w.start.value()), step(w.step), zero(0);
  const Expr last(w.size.value() - 1);
  const Expr inside = binary(loop::Op::logical_and, binary(loop::Op::ge, i, zero),
                             binary(loop::Op::le, i, Expr((w.size.value() - 1) * w.step)));
  const Expr hit = w.step == 1
                       ? inside
                       : binary(loop::Op::logical_and, inside,
                                binary(loop::Op::eq, binary(loop::Op::truncmod, i, step), zero));
  const Expr quotient = w.step == 1 ? i : binary(loop::Op::truncdiv, i, step);
  Exprs at = index;
  at[w.dim] = binary(loop::Op::min, binary(loop::Op::max, quotient, zero), last);
  return {select(hit, round_to_stored(k.load(1, at), t), self)};
}

OpDef slice_scatter() {
  return OpDef{
      .name = "slice_scatter",
      .signature =
          "(Tensor self, Tensor src, int dim=0, SymInt? start=None, SymInt? end=None, "
          "SymInt step=1) -> Tensor",
      .summary = "A copy of self with src in place of a slice.",
      .source = "aten::slice_scatter, PyTorch 2.13",
      .traits = Trait::fusible | Trait::recomputable,
      .infer = infer_slice_scatter,
      .reference = reference_slice_scatter,
      .decompose = Absent{"primitive: index arithmetic and a choice"},
      .grad = grad_slice_scatter,
      .lower = loop::elementwise(lower_slice_scatter, true),
      .cost = cost_per_result(0),
      .samples = []() -> Samples {
        return {{{f32({4, 2}), f32({2, 2})}, {{"start", 1}, {"end", 3}}},
                {{f32({2, 3}), f32({2, 2})}, {{"dim", 1}, {"start", -2}}},
                {{f32({7}), f32({3})}, {{"start", 1}, {"end", 7}, {"step", 2}}},
                {{f32({2, 5}), f32({2, 2})}, {{"dim", -1}, {"step", 3}}},
                {{f32({3}), f32({3})}},
                {{f32({3}), f32({0})}, {{"start", 2}, {"end", 1}}},
                {{f32({0, 2}), f32({0, 2})}},
                {{f64({4}), f64({2})}, {{"end", 2}}},
                {{bf16({4}), bf16({2})}, {{"end", 2}}},
                {{f16({4}), f32({2})}, {{"end", 2}}},
                {{i64({4}), i32({2})}, {{"end", 2}}},
                {{i32({4}), i64({2})}, {{"end", 2}}},
                {{f32({4}), i64({2})}, {{"end", 2}}},
                {{boolean({4}), boolean({2})}, {{"end", 2}}}};
      },
      .rejects = []() -> Rejects {
        return {{"C1",
                 {{f32({}), f32({})}, {}},
                 "slice_scatter: C1: self is f32[], expected at least one dim"},
                {"C2",
                 {{f32({3}), f32({3})}, {{"dim", 1}}},
                 "slice_scatter: C2: dim 1 is outside [-1, 1) of self: f32[3]"},
                {"C3",
                 {{f32({3}), f32({3})}, {{"step", -1}}},
                 "slice_scatter: C3: step is -1, expected a positive integer"},
                {"C5",
                 {{f32({4, 2}), f32({1, 2})}, {{"start", 1}, {"end", 3}}},
                 "slice_scatter: C5: src and the slice of self: [1,2] and [2,2], expected equal "
                 "shapes"}};
      },
  };
}

// ---- select_scatter

Result<Types> infer_select_scatter(const OpView& op) {
  CLEAVE_TRY(const Position p, checked_position(op));
  const Type& x = op.in_type(0);
  CLEAVE_CHECK(check_same_shape(op, "C4", "src and the part of self", op.in_type(1).shape,
                                without_dim(x.shape, p.dim)));
  return Types{typed_like(x, x.dtype, x.shape)};
}

Result<Arrays> reference_select_scatter(const OpView& op, std::span<const Array* const> in) {
  Array y = *in[0];
  const Array& src = *in[1];
  const int64_t given = op.int_attr("dim"), dim = given < 0 ? given + y.rank() : given;
  int64_t index = op.int_attr("index");
  if (index < 0) index += y.shape[dim];
  move_into(y, src, [&](std::vector<int64_t> at) {
    if (at[dim] != index) return int64_t{-1};
    at.erase(at.begin() + dim);
    return position_of(at, src.shape);
  });
  return Arrays{y};
}

Values grad_select_scatter(Builder& b, const GradView& op) {
  const Type& src = op.in_type(1);
  // As given in the call: for a symbolic size, -1 may be a position whose sign can't be proven.
  const NamedAttrs attrs = {{"dim", op.attr("dim")}, {"index", op.attr("index")}};
  Values out = op.no_grads();
  if (op.needs(0)) out[0] = b.call1("select_scatter", {op.dout(0), zeros(b, src)}, attrs);
  if (op.needs(1)) out[1] = b.convert(b.call1("select", {op.dout(0)}, attrs), src.dtype);
  return out;
}

Values decompose_select_scatter(Builder& b, const OpView& op) {
  const Position p = position_at(op);
  return {b.call1("slice_scatter", {op.in(0), b.unsqueeze(op.in(1), p.dim)},
                  {{"dim", p.dim}, {"start", p.index}, {"end", p.index + Dim(1)}})};
}

Exprs lower_select_scatter(loop::KernelBuilder& k, const OpView& op, const Exprs& index) {
  const Position p = position_at(op);
  Exprs at = index;
  at.erase(at.begin() + p.dim);
  return {select(binary(loop::Op::eq, index[p.dim], Expr(p.index.value())),
                 round_to_stored(k.load(1, at), op.out_type(0).dtype), k.load(0, index))};
}

OpDef select_scatter() {
  return OpDef{
      .name = "select_scatter",
      .signature = "(Tensor self, Tensor src, int dim, SymInt index) -> Tensor",
      .summary = "A copy of self with src in place of one position of a dim.",
      .source = "aten::select_scatter, PyTorch 2.13",
      .traits = Trait::fusible | Trait::recomputable,
      .infer = infer_select_scatter,
      .reference = reference_select_scatter,
      .decompose = decompose_select_scatter,
      .grad = grad_select_scatter,
      .lower = loop::elementwise(lower_select_scatter),
      .cost = cost_per_result(0),
      .samples = []() -> Samples {
        return {{{f32({3, 2}), f32({2})}, {{"dim", 0}, {"index", 1}}},
                {{f32({2, 3}), f32({2})}, {{"dim", -1}, {"index", -3}}},
                {{f32({4}), f32({})}, {{"dim", 0}, {"index", 3}}},
                {{f32({2, 2, 2}), f32({2, 2})}, {{"dim", 1}, {"index", 0}}},
                {{f32({2, 0}), f32({0})}, {{"dim", 0}, {"index", 1}}},
                {{f64({3, 2}), f64({2})}, {{"dim", 0}, {"index", 1}}},
                {{bf16({3, 2}), bf16({2})}, {{"dim", 0}, {"index", 1}}},
                {{f16({3, 2}), f64({2})}, {{"dim", 0}, {"index", 1}}},
                {{i64({3, 2}), i64({2})}, {{"dim", 0}, {"index", 1}}},
                {{i32({3, 2}), f32({2})}, {{"dim", 0}, {"index", 1}}},
                {{boolean({3, 2}), i64({2})}, {{"dim", 0}, {"index", 1}}}};
      },
      .rejects = []() -> Rejects {
        return {{"C1",
                 {{f32({}), f32({})}, {{"dim", 0}, {"index", 0}}},
                 "select_scatter: C1: self is f32[], expected at least one dim"},
                {"C2",
                 {{f32({3}), f32({})}, {{"dim", 1}, {"index", 0}}},
                 "select_scatter: C2: dim 1 is outside [-1, 1) of self: f32[3]"},
                {"C3",
                 {{f32({3}), f32({})}, {{"dim", 0}, {"index", 3}}},
                 "select_scatter: C3: index 3 is outside [-3, 3) of dim 0 of self: f32[3]"},
                {"C4",
                 {{f32({2, 3}), f32({1, 3})}, {{"dim", 0}, {"index", 1}}},
                 "select_scatter: C4: src and the part of self: [1,3] and [3], expected equal "
                 "shapes"}};
      },
  };
}

}  // namespace

CLEAVE_OPS(window_scatter) { return {slice_scatter(), select_scatter()}; }

}  // namespace cleave
