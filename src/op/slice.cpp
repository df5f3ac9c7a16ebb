// Views of a part: select, slice.
//
// select(self; dim, index) -> y             y[..., ...] = x[..., index, ...], the dim is dropped
//   (C1) self has a dim  (C2) dim in range  (C3) -size <= index < size
// slice(self; dim, start, end, step) -> y   y[..., i, ...] = x[..., start + i*step, ...]
//   (C1) self has a dim  (C2) dim in range  (C3) step > 0  (C4) bounds' signs are provable
// Gradients place the cotangent into zeros.
#include <cmath>
#include <limits>

#include "op/cost.h"
#include "op/entry.h"
#include "op/reference_lines.h"
#include "op/sample_sets.h"
#include "op/window.h"

namespace cleave {
namespace {

using loop::Layout;

constexpr Trait traits = Trait::view | Trait::fusible | Trait::recomputable;

// ---- select

Result<Types> infer_select(const OpView& op) {
  CLEAVE_TRY(const Position p, checked_position(op));
  const Type& x = op.in_type(0);
  return Types{typed_like(x, x.dtype, without_dim(x.shape, p.dim))};
}

Result<Arrays> reference_select(const OpView& op, std::span<const Array* const> in) {
  const Array& x = *in[0];
  const int64_t given = op.int_attr("dim"), dim = given < 0 ? given + x.rank() : given;
  int64_t index = op.int_attr("index");
  if (index < 0) index += x.shape[dim];
  std::vector<int64_t> shape = x.shape;
  shape.erase(shape.begin() + dim);
  return Arrays{moved(x, shape, [&](std::vector<int64_t> at) {
    at.insert(at.begin() + dim, index);
    return position_of(at, x.shape);
  })};
}

Values grad_select(Builder& b, const GradView& op) {
  const Position p = position_at(op);
  const Type& x = op.in_type(0);
  return {padded(b, b.unsqueeze(op.dout(0), p.dim), p.dim, x.rank(), p.index,
                 x.shape[p.dim] - Dim(1) - p.index)};
}

std::optional<Layout> layout_select(const OpView& op, const Layout& in, int) {
  const Position p = position_at(op);
  Layout out = in;
  out.offset += p.index.value() * in.strides[p.dim];
  out.shape.erase(out.shape.begin() + p.dim);
  out.strides.erase(out.strides.begin() + p.dim);
  return out;
}

OpDef select() {
  return OpDef{
      .name = "select",
      .signature = "(Tensor self, int dim, SymInt index) -> Tensor",
      .summary = "One position of a dim, which goes.",
      .source = "aten::select.int, PyTorch 2.13",
      .traits = traits,
      .infer = infer_select,
      .reference = reference_select,
      .decompose = [](Builder& b, const OpView& op) -> Values {
        const Position p = position_at(op);
        return {b.squeeze(b.slice(op.in(0), p.dim, p.index, p.index + Dim(1)), {p.dim})};
      },
      .grad = grad_select,
      .lower = loop::view(layout_select),
      .cost = cost_of_view(),
      .samples =
          [] {
            return joined({over_dtypes(all_dtypes, {3, 4}, {{"dim", 0}, {"index", 1}}),
                           {{{f32({2, 3})}, {{"dim", 1}, {"index", -1}}},
                            {{f32({2, 3, 2})}, {{"dim", -2}, {"index", 0}}},
                            {{f32({2, 3})}, {{"dim", 0}, {"index", -2}}},
                            {{f32({0, 3})}, {{"dim", 1}, {"index", 2}}},
                            {{f32({4})}, {{"dim", 0}, {"index", 3}}},
                            {{f32({1})}, {{"dim", 0}, {"index", 0}}},
                            {{f32({4})}, {{"dim", -1}, {"index", -4}}},
                            {{bf16({2, 3, 4})}, {{"dim", 2}, {"index", 3}}},
                            {{bf16({2, 3, 4})}, {{"dim", 1}, {"index", -3}}},
                            {{f64({3, 1})}, {{"dim", 1}, {"index", 0}}},
                            {{f32({2, 0, 3})}, {{"dim", 0}, {"index", 1}}},
                            {{f16({2, 2, 2, 2})}, {{"dim", -4}, {"index", 1}}},
                            {{f32({3, 70})}, {{"dim", 1}, {"index", 69}}},
                            {{f32({3, 70})}, {{"dim", 0}, {"index", 2}}},
                            {{f32({2, 3}).with({NAN, INFINITY, -INFINITY, 0, -0.0, 1})},
                             {{"dim", 1}, {"index", 1}}}}});
          },
      .rejects = []() -> Rejects {
        return {{"C1",
                 {{f32({})}, {{"dim", 0}, {"index", 0}}},
                 "select: C1: self is f32[], expected at least one dim"},
                {"C2",
                 {{f32({2, 3})}, {{"dim", 2}, {"index", 0}}},
                 "select: C2: dim 2 is outside [-2, 2) of self: f32[2,3]"},
                {"C3",
                 {{f32({2, 3})}, {{"dim", 1}, {"index", 3}}},
                 "select: C3: index 3 is outside [-3, 3) of dim 1 of self: f32[2,3]"},
                {"C3",
                 {{f32({2, 3})}, {{"dim", 1}, {"index", -4}}},
                 "select: C3: index -4 is outside [-3, 3) of dim 1 of self: f32[2,3]"}};
      },
  };
}

// ---- slice

Result<Types> infer_slice(const OpView& op) {
  CLEAVE_TRY(const Window w, checked_window(op));
  const Type& x = op.in_type(0);
  return Types{typed_like(x, x.dtype, with_size(x.shape, w.dim, w.size))};
}

Result<Arrays> reference_slice(const OpView& op, std::span<const Array* const> in) {
  const Array& x = *in[0];
  const int64_t given = op.int_attr("dim"), dim = given < 0 ? given + x.rank() : given;
  const int64_t size = x.shape[dim], step = op.int_attr("step");
  const auto bound = [&](const char* attr, int64_t fallback) {
    if (op.attr(attr).is_none()) return fallback;
    const int64_t b = op.int_attr(attr);
    return std::clamp<int64_t>(b < 0 ? b + size : b, 0, size);
  };
  const int64_t start = bound("start", 0), end = bound("end", size);
  std::vector<int64_t> shape = x.shape;
  shape[dim] = end > start ? (end - start - 1) / step + 1 : 0;
  return Arrays{moved(x, shape, [&](std::vector<int64_t> at) {
    at[dim] = start + at[dim] * step;
    return position_of(at, x.shape);
  })};
}

Values grad_slice(Builder& b, const GradView& op) {
  const Window w = window_of(op);
  const Type& x = op.in_type(0);
  if (w.step == 1)
    return {padded(b, op.dout(0), w.dim, x.rank(), w.start, x.shape[w.dim] - w.start - w.size)};
  // Bounds as given in the call: for a symbolic size, those of the window may be less provable.
  return {b.call1("slice_scatter", {zeros(b, x), op.dout(0)},
                  {{"dim", w.dim},
                   {"start", op.attr("start")},
                   {"end", op.attr("end")},
                   {"step", op.attr("step")}})};
}

std::optional<Layout> layout_slice(const OpView& op, const Layout& in, int) {
  const Window w = window_of(op);
  Layout out = in;
  if (w.size.value() > 0) out.offset += w.start.value() * in.strides[w.dim];
  out.shape[w.dim] = w.size.value();
  if (w.size.value() > 1) out.strides[w.dim] *= w.step;
  return out;
}

OpDef slice() {
  static constexpr int64_t far = std::numeric_limits<int64_t>::max();
  return OpDef{
      .name = "slice",
      .signature =
          "(Tensor self, int dim=0, SymInt? start=None, SymInt? end=None, "
          "SymInt step=1) -> Tensor",
      .summary = "Every step-th position of a dim from start up to end.",
      .source = "aten::slice.Tensor, PyTorch 2.13",
      .traits = traits,
      .infer = infer_slice,
      .reference = reference_slice,
      .decompose = Absent{"a primitive view"},
      .grad = grad_slice,
      .lower = loop::view(layout_slice),
      .cost = cost_of_view(),
      .samples =
          [] {
            return joined({over_dtypes(all_dtypes, {4, 3}, {{"start", 1}, {"end", 3}}),
                           {{{f32({5, 2})}},
                            {{f32({2, 5})}, {{"dim", 1}, {"start", -3}, {"end", far}}},
                            {{f32({2, 5})}, {{"dim", -1}, {"start", 1}, {"end", -1}, {"step", 2}}},
                            {{f32({7})}, {{"step", 3}}},
                            {{f32({2, 5})}, {{"dim", 1}, {"start", 4}, {"end", 2}}},
                            {{f32({3})}, {{"start", -9}, {"end", 9}}},
                            {{f32({3})}, {{"start", 5}, {"end", 9}}},
                            {{f32({0, 2})}, {{"start", 0}, {"end", 1}}},
                            {{f32({2, 3, 4})}, {{"dim", 1}, {"start", 1}}},
                            {{f32({2, 3, 4})}, {{"dim", -3}, {"start", 1}}},
                            {{bf16({2, 9})}, {{"dim", 1}, {"start", 1}, {"step", 4}}},
                            {{f32({6})}, {{"start", -2}}},
                            {{f32({6})}, {{"end", -4}}},
                            {{f32({6})}, {{"step", 9}}},
                            {{f32({1})}, {{"start", 0}, {"end", 0}}},
                            {{f64({4, 0})}, {{"start", 1}, {"end", 3}}},
                            {{f32({3, 70})}, {{"dim", 1}, {"start", 3}, {"end", 69}, {"step", 3}}},
                            {{f16({2, 2, 5})}, {{"dim", 2}, {"start", -9}, {"end", -1}}},
                            {{f32({5}).with({NAN, INFINITY, -INFINITY, 0, -0.0})},
                             {{"start", 1}, {"step", 2}}}}});
          },
      .rejects = []() -> Rejects {
        return {{"C1", {{f32({})}, {}}, "slice: C1: self is f32[], expected at least one dim"},
                {"C2",
                 {{f32({2})}, {{"dim", 1}}},
                 "slice: C2: dim 1 is outside [-1, 1) of self: f32[2]"},
                {"C3",
                 {{f32({2})}, {{"step", 0}}},
                 "slice: C3: step is 0, expected a positive integer"}};
      },
  };
}

}  // namespace

CLEAVE_OPS(slice) { return {select(), slice()}; }

}  // namespace cleave
