// Views of a part: select, slice, diagonal.
//
// select(self; dim, index) -> y             y[..., ...] = x[..., index, ...], the dim goes
//   (C1) self has a dim  (C2) dim in range  (C3) -size <= index < size
// slice(self; dim, start, end, step) -> y   y[..., i, ...] = x[..., start + i*step, ...]
//   (C1) self has a dim  (C2) dim in range  (C3) step > 0  (C4) bounds' signs are provable
// diagonal(self; offset, dim1, dim2) -> y   y[..., i] = x[.., i, .., i+offset, ..]
//   (C1) dims in range  (C2) they differ; an offset beyond the matrix gives an empty diagonal
// Gradients put the cotangent into zeros.
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
      .samples = joined({over_dtypes(all_dtypes, {3, 4}, {{"dim", 0}, {"index", 1}}),
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
                           {{"dim", 1}, {"index", 1}}}}}),
      .rejects = {{"C1",
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
                   "select: C3: index -4 is outside [-3, 3) of dim 1 of self: f32[2,3]"}},
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
  // Bounds as given: of a symbolic size, those of the window may say less.
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
  constexpr int64_t far = std::numeric_limits<int64_t>::max();
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
      .samples = joined(
          {over_dtypes(all_dtypes, {4, 3}, {{"start", 1}, {"end", 3}}),
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
            {{f32({5}).with({NAN, INFINITY, -INFINITY, 0, -0.0})}, {{"start", 1}, {"step", 2}}}}}),
      .rejects = {{"C1", {{f32({})}, {}}, "slice: C1: self is f32[], expected at least one dim"},
                  {"C2",
                   {{f32({2})}, {{"dim", 1}}},
                   "slice: C2: dim 1 is outside [-1, 1) of self: f32[2]"},
                  {"C3",
                   {{f32({2})}, {{"step", 0}}},
                   "slice: C3: step is 0, expected a positive integer"}},
  };
}

// ---- diagonal

constexpr int64_t far_off = int64_t{1} << 48;  // beyond any size

struct Diagonal {
  int64_t dim1, dim2;
  Dim rows, columns, size;
  int64_t offset;
};

Result<Diagonal> checked_diagonal(const OpView& op) {
  const Type& x = op.in_type(0);
  Diagonal d;
  CLEAVE_TRY(d.dim1, checked_dim(op, "C1", op.int_attr("dim1"), x, Rank0::refused));
  CLEAVE_TRY(d.dim2, checked_dim(op, "C1", op.int_attr("dim2"), x, Rank0::refused));
  if (d.dim1 == d.dim2)
    return op.broken("C2", "dim1 and dim2 are both dim {} of self: {}, expected two dims", d.dim1,
                     x.text());
  d.offset = std::clamp(op.int_attr("offset"), -far_off, far_off);
  d.rows = x.shape[d.dim1];
  d.columns = x.shape[d.dim2];
  const Dim down = d.offset < 0 ? d.rows + Dim(d.offset) : d.rows;
  const Dim right = d.offset < 0 ? d.columns : d.columns - Dim(d.offset);
  const Dim size = Dim::min(down, right);
  d.size = op.env().range_of(size).lo >= 0 ? size : Dim::max(size, 0);
  return d;
}

Result<Types> infer_diagonal(const OpView& op) {
  CLEAVE_TRY(const Diagonal d, checked_diagonal(op));
  const Type& x = op.in_type(0);
  Shape shape;
  for (int64_t k = 0; k < x.rank(); ++k)
    if (k != d.dim1 && k != d.dim2) shape.push_back(x.shape[k]);
  shape.push_back(d.size);
  return Types{typed_like(x, x.dtype, std::move(shape))};
}

Result<Arrays> reference_diagonal(const OpView& op, std::span<const Array* const> in) {
  const Array& x = *in[0];
  int64_t d1 = op.int_attr("dim1"), d2 = op.int_attr("dim2");
  const int64_t offset = std::clamp(op.int_attr("offset"), -far_off, far_off);
  if (d1 < 0) d1 += x.rank();
  if (d2 < 0) d2 += x.rank();
  std::vector<int64_t> shape;
  for (int64_t d = 0; d < x.rank(); ++d)
    if (d != d1 && d != d2) shape.push_back(x.shape[d]);
  int64_t size = 0;
  for (int64_t i = 0; i < x.shape[d1]; ++i) size += i + offset >= 0 && i + offset < x.shape[d2];
  shape.push_back(size);
  return Arrays{moved(x, shape, [&](const std::vector<int64_t>& y) {
    std::vector<int64_t> at(x.shape.size());
    size_t next = 0;
    for (int64_t d = 0; d < x.rank(); ++d)
      if (d != d1 && d != d2) at[d] = y[next++];
    at[d1] = y.back() + std::max<int64_t>(0, -offset);
    at[d2] = y.back() + std::max<int64_t>(0, offset);
    return position_of(at, x.shape);
  })};
}

// Each element of the cotangent followed by `columns` zeros is, read as rows of `columns`, a matrix
// whose diagonal it is; zeros in front move it to the offset.
Values grad_diagonal(Builder& b, const GradView& op) {
  const Diagonal d = *checked_diagonal(op);
  const Type& x = op.in_type(0);
  if (op.env().provably_equal(d.size, 0)) return {zeros(b, x)};
  Shape lead;
  std::vector<int64_t> inverse(static_cast<size_t>(x.rank()));
  for (int64_t k = 0; k < x.rank(); ++k) {
    if (k == d.dim1 || k == d.dim2) continue;
    inverse[k] = std::ssize(lead);
    lead.push_back(x.shape[k]);
  }
  inverse[d.dim1] = x.rank() - 2;
  inverse[d.dim2] = x.rank() - 1;
  const auto then = [&](std::initializer_list<Dim> dims) {
    Shape s = lead;
    s.insert(s.end(), dims);
    return s;
  };
  const int64_t rank = std::ssize(lead);
  const Dim flat = d.size * (d.columns + Dim(1));
  // A symbolic diagonal may turn out to be empty, its offset beyond the matrix.
  const Dim offset = d.offset < 0 ? Dim(-d.offset) * d.columns : Dim(d.offset);
  const Dim before = Dim::min(offset, d.rows * d.columns);
  ValueId v = b.view(op.dout(0), then({d.size, 1}));
  v = b.view(padded(b, v, rank + 1, rank + 2, 0, d.columns), then({flat}));
  v = padded(b, v, rank, rank + 1, before, d.rows * d.columns - before - flat);
  return {b.permute(b.view(v, then({d.rows, d.columns})), inverse)};
}

std::optional<Layout> layout_diagonal(const OpView& op, const Layout& in, int) {
  const Diagonal d = *checked_diagonal(op);
  Layout out{static_shape(op.out_type(0)), {}, in.offset};
  for (int64_t k = 0; k < std::ssize(in.shape); ++k)
    if (k != d.dim1 && k != d.dim2) out.strides.push_back(in.strides[k]);
  out.strides.push_back(in.strides[d.dim1] + in.strides[d.dim2]);
  if (out.numel() > 0)
    out.offset += d.offset < 0 ? -d.offset * in.strides[d.dim1] : d.offset * in.strides[d.dim2];
  return out;
}

OpDef diagonal() {
  return OpDef{
      .name = "diagonal",
      .signature = "(Tensor self, int offset=0, int dim1=0, int dim2=1) -> Tensor",
      .summary = "The diagonal of two dims, as a last dim.",
      .source = "aten::diagonal, PyTorch 2.13",
      .traits = traits,
      .infer = infer_diagonal,
      .reference = reference_diagonal,
      .decompose = Absent{"a primitive view"},
      .grad = grad_diagonal,
      .lower = loop::view(layout_diagonal),
      .cost = cost_of_view(),
      .samples = joined({over_dtypes(all_dtypes, {3, 3}),
                         {{{f32({3, 4})}, {{"offset", 1}}},
                          {{f32({3, 4})}, {{"offset", 2}}},
                          {{f32({4, 3})}, {{"offset", -2}}},
                          {{f32({3, 4})}, {{"offset", -1}}},
                          {{f32({2, 5})}, {{"offset", 1}}},
                          {{f32({2, 2})}, {{"offset", 5}}},
                          {{f32({2, 3, 2})}, {{"dim1", 2}, {"dim2", 0}}},
                          {{f32({2, 2, 3, 2})}, {{"offset", 1}, {"dim1", -2}, {"dim2", 1}}},
                          {{f32({0, 3})}},
                          {{f32({1, 1})}},
                          {{f32({3, 3})}, {{"dim1", 1}, {"dim2", 0}}},
                          {{bf16({2, 3, 4})}, {{"offset", -1}, {"dim1", 1}, {"dim2", 2}}},
                          {{f32({3, 3})}, {{"offset", -7}}},
                          {{f32({3, 2, 3})}, {{"dim1", -1}, {"dim2", -3}}},
                          {{f64({1, 5})}, {{"offset", 3}}},
                          {{f32({2, 0, 2})}, {{"dim1", 0}, {"dim2", 2}}},
                          {{f32({40, 41})}, {{"offset", 2}}},
                          {{f32({2, 2}).with({NAN, 1, 2, INFINITY})}}}}),
      .rejects = {{"C1",
                   {{f32({3})}, {}},
                   "diagonal: C1: dim 1 is outside [-1, 1) of self: f32[3]"},
                  {"C2",
                   {{f32({3, 3})}, {{"dim1", 1}, {"dim2", -1}}},
                   "diagonal: C2: dim1 and dim2 are both dim 1 of self: f32[3,3], expected two "
                   "dims"}},
  };
}

}  // namespace

CLEAVE_OPS(slice) { return {select(), slice(), diagonal()}; }

}  // namespace cleave
