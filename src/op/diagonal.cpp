// The diagonal x[.., i, .., i+offset, ..] of two dims: as a view, and replaced by src.
//
// diagonal(self; offset, dim1, dim2) -> y   y[..., i] = x[.., i, .., i+offset, ..]
//   (C1) dims in range  (C2) they differ; an offset beyond the matrix gives an empty diagonal
// diagonal_scatter(self, src; offset, dim1, dim2)   y = self, but y[diagonal] = src
//   (C1..C2) as diagonal  (C3) src has the diagonal's shape; it is converted to self's dtype
#include <cmath>

#include "op/cost.h"
#include "op/dims.h"
#include "op/entry.h"
#include "op/reference_lines.h"
#include "op/sample_sets.h"
#include "op/window.h"

namespace cleave {
namespace {

using loop::Expr;
using loop::Exprs;
using loop::Layout;

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

Shape diagonal_shape(const Type& x, const Diagonal& d) {
  Shape shape;
  for (int64_t k = 0; k < x.rank(); ++k)
    if (k != d.dim1 && k != d.dim2) shape.push_back(x.shape[k]);
  shape.push_back(d.size);
  return shape;
}

Result<Types> infer_diagonal(const OpView& op) {
  CLEAVE_TRY(const Diagonal d, checked_diagonal(op));
  const Type& x = op.in_type(0);
  return Types{typed_like(x, x.dtype, diagonal_shape(x, d))};
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

// Each element of the cotangent followed by `columns` zeros, reshaped to rows of `columns`, is a
// matrix with the cotangent as its diagonal; leading zeros shift it to the offset.
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
  // A symbolic diagonal may turn out to be empty if its offset exceeds the matrix.
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
      .traits = Trait::view | Trait::fusible | Trait::recomputable,
      .infer = infer_diagonal,
      .reference = reference_diagonal,
      .decompose = Absent{"a primitive view"},
      .grad = grad_diagonal,
      .lower = loop::view(layout_diagonal),
      .cost = cost_of_view(),
      .samples =
          [] {
            return joined({over_dtypes(all_dtypes, {3, 3}),
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
                            {{f32({2, 2}).with({NAN, 1, 2, INFINITY})}}}});
          },
      .rejects = []() -> Rejects {
        return {{"C1", {{f32({3})}, {}}, "diagonal: C1: dim 1 is outside [-1, 1) of self: f32[3]"},
                {"C2",
                 {{f32({3, 3})}, {{"dim1", 1}, {"dim2", -1}}},
                 "diagonal: C2: dim1 and dim2 are both dim 1 of self: f32[3,3], expected two "
                 "dims"}};
      },
  };
}

// ---- diagonal_scatter

Result<Types> infer_diagonal_scatter(const OpView& op) {
  CLEAVE_TRY(const Diagonal d, checked_diagonal(op));
  const Type& x = op.in_type(0);
  CLEAVE_CHECK(check_same_shape(op, "C3", "src and the diagonal of self", op.in_type(1).shape,
                                diagonal_shape(x, d)));
  return Types{typed_like(x, x.dtype, x.shape)};
}

Result<Arrays> reference_diagonal_scatter(const OpView& op, std::span<const Array* const> in) {
  Array y = *in[0];
  const Array& src = *in[1];
  int64_t d1 = op.int_attr("dim1"), d2 = op.int_attr("dim2");
  const int64_t offset = std::clamp(op.int_attr("offset"), -far_off, far_off);
  if (d1 < 0) d1 += y.rank();
  if (d2 < 0) d2 += y.rank();
  move_into(y, src, [&](const std::vector<int64_t>& at) {
    if (at[d2] - at[d1] != offset) return int64_t{-1};
    std::vector<int64_t> from;
    for (int64_t d = 0; d < y.rank(); ++d)
      if (d != d1 && d != d2) from.push_back(at[d]);
    from.push_back(std::min(at[d1], at[d2]));
    return position_of(from, src.shape);
  });
  return Arrays{y};
}

Values grad_diagonal_scatter(Builder& b, const GradView& op) {
  const Type& src = op.in_type(1);
  const NamedAttrs attrs = {
      {"offset", op.attr("offset")}, {"dim1", op.attr("dim1")}, {"dim2", op.attr("dim2")}};
  Values out = op.no_grads();
  if (op.needs(0)) out[0] = b.call1("diagonal_scatter", {op.dout(0), zeros(b, src)}, attrs);
  if (op.needs(1)) out[1] = b.convert(b.call1("diagonal", {op.dout(0)}, attrs), src.dtype);
  return out;
}

Exprs lower_diagonal_scatter(loop::KernelBuilder& k, const OpView& op, const Exprs& index) {
  const Diagonal d = *checked_diagonal(op);
  const int64_t size = d.size.value();
  if (size == 0) return {k.load(0, index)};
  Exprs at;
  for (size_t i = 0; i < index.size(); ++i)
    if (static_cast<int64_t>(i) != d.dim1 && static_cast<int64_t>(i) != d.dim2)
      at.push_back(index[i]);
  const Expr &row = index[d.dim1], &column = index[d.dim2];
  const Expr along = binary(loop::Op::min, row, column);
  at.push_back(binary(loop::Op::min, along, Expr(size - 1)));
  return {select(binary(loop::Op::eq, column, row + Expr(d.offset)),
                 round_to_stored(k.load(1, at), op.out_type(0).dtype), k.load(0, index))};
}

OpDef diagonal_scatter() {
  return OpDef{
      .name = "diagonal_scatter",
      .signature = "(Tensor self, Tensor src, int offset=0, int dim1=0, int dim2=1) -> Tensor",
      .summary = "A copy of self with src in place of the diagonal of two dims.",
      .source = "aten::diagonal_scatter, PyTorch 2.13",
      .traits = Trait::fusible | Trait::recomputable,
      .infer = infer_diagonal_scatter,
      .reference = reference_diagonal_scatter,
      .decompose = Absent{"a primitive: one choice an element"},
      .grad = grad_diagonal_scatter,
      .lower = loop::elementwise(lower_diagonal_scatter),
      .cost = cost_per_result(0),
      .samples = []() -> Samples {
        return {{{f32({3, 3}), f32({3})}, {}},
                {{f32({3, 4}), f32({3})}, {{"offset", 1}}},
                {{f32({3, 4}), f32({2})}, {{"offset", 2}}},
                {{f32({4, 3}), f32({2})}, {{"offset", -2}}},
                {{f32({2, 2}), f32({0})}, {{"offset", 5}}},
                {{f32({2, 3, 2}), f32({3, 2})}, {{"dim1", 2}, {"dim2", 0}}},
                {{f32({2, 2, 3, 2}), f32({2, 2, 1})}, {{"offset", 1}, {"dim1", -2}, {"dim2", 1}}},
                {{f32({0, 3}), f32({0})}, {}},
                {{f32({3, 3}), f32({3})}, {{"dim1", 1}, {"dim2", 0}}},
                {{f64({3, 3}), f64({3})}, {}},
                {{bf16({3, 2}), bf16({2})}, {}},
                {{f16({2, 3}), f64({2})}, {{"offset", 1}}},
                {{f64({2, 3}), f32({2})}, {{"offset", 1}}},
                {{i64({3, 2}), i64({2})}, {}},
                {{i32({3, 2}), f32({2})}, {}},
                {{boolean({2, 2}), i64({2})}, {}},
                {{f32({40, 41}), f32({39})}, {{"offset", 2}}},
                {{f32({2, 2}).with({NAN, 1, 2, INFINITY}), f32({2})}, {}}};
      },
      .rejects = []() -> Rejects {
        return {{"C1",
                 {{f32({3}), f32({3})}, {}},
                 "diagonal_scatter: C1: dim 1 is outside [-1, 1) of self: f32[3]"},
                {"C2",
                 {{f32({3, 3}), f32({3})}, {{"dim1", 1}, {"dim2", -1}}},
                 "diagonal_scatter: C2: dim1 and dim2 are both dim 1 of self: f32[3,3], expected "
                 "two dims"},
                {"C3",
                 {{f32({3, 4}), f32({3})}, {{"offset", 2}}},
                 "diagonal_scatter: C3: src and the diagonal of self: [3] and [2], expected equal "
                 "shapes"}};
      },
  };
}

}  // namespace

CLEAVE_OPS(diagonal) { return {diagonal(), diagonal_scatter()}; }

}  // namespace cleave
