#include "op/product.h"

namespace cleave {
namespace {

using loop::Layout, loop::LibraryAccess, loop::LibraryLayouts, loop::LibraryMemory;
using loop::stride_from_last;
using At = GemmOperand;

// Along rows or columns, or one of them repeats a number.
bool is_dense_matrix(const Layout& l) {
  const size_t rank = l.shape.size();
  const auto unit = [&](size_t d) {
    return l.shape[d] <= 1 || l.strides[d] == 1 || l.strides[d] == 0;
  };
  return unit(rank - 1) || unit(rank - 2);
}

// Rows of the result, evenly apart, whose columns lie side by side.
bool has_rows(const Layout& l) {
  const size_t rank = l.shape.size();
  const bool columns = l.shape[rank - 1] <= 1 || l.strides[rank - 1] == 1;
  return columns && (l.shape[rank - 2] <= 1 || l.strides[rank - 2] >= l.shape[rank - 1]);
}

GemmSpec spec_of(GemmSpec s, const LibraryLayouts& at) {
  const auto stored = [&](const LibraryMemory& m) {
    return m.dtype == s.dtype ? std::nullopt : std::optional(m.dtype);
  };
  const auto batch_stride = [](const Layout& l) {
    return l.shape.size() == 3 ? stride_from_last(l, 3) : 0;
  };
  const Layout &a = at[At::a]->layout, &b = at[At::b]->layout;
  const size_t rank = a.shape.size();
  s.batch = rank == 3 ? a.shape[0] : 1;
  s.m = a.shape[rank - 2], s.k = a.shape[rank - 1];
  s.a_batch = batch_stride(a), s.a_row = stride_from_last(a, 2), s.a_col = stride_from_last(a, 1);
  s.a_stored = stored(*at[At::a]);
  if (!s.b_packed) {
    s.n = b.shape.back();
    s.b_batch = batch_stride(b);
    s.b_row = stride_from_last(b, 2), s.b_col = stride_from_last(b, 1);
    s.b_stored = stored(*at[At::b]);
  }
  if (const auto& c = at[At::c_in]) {
    s.has_c_in = true;
    s.c_in_batch = batch_stride(c->layout);
    s.c_in_row = stride_from_last(c->layout, 2), s.c_in_col = stride_from_last(c->layout, 1);
  } else {
    s.beta = 1;  // it doesn't matter
  }
  if (const Layout& c = at[At::c]->layout; !loop::is_without_gaps(c)) {
    s.c_batch = batch_stride(c);
    s.c_row = std::max(stride_from_last(c, 2), s.n);
  }
  for (size_t k = 0; k < s.scales.size(); ++k)
    if (const auto& scale = at[At::scale + k])
      s.scales[k] = {true, stride_from_last(scale->layout, 2), stride_from_last(scale->layout, 1)};
  return s;
}

}  // namespace

loop::LibraryForm product_form(const OpView& op, const ProductOperands& at, const GemmSpec& spec) {
  loop::LibraryForm form;
  const auto factor = [&](size_t position, int index) {
    form.operands.push_back({.position = position,
                             .index = index,
                             .takes = is_dense_matrix,
                             .converts = gemm_reads_as});
  };
  const auto read = [&](size_t position, int index) {
    if (index >= 0 && op.has(index))
      form.operands.push_back({.position = position, .index = index});
  };
  factor(At::a, at.a);
  if (spec.b_packed)
    form.operands.push_back({.position = At::b, .index = at.b, .takes = loop::is_without_gaps});
  else
    factor(At::b, at.b);
  if (spec.beta != 0) read(At::c_in, at.c);
  read(At::scale, at.scales[0]);
  read(At::other_scale, at.scales[1]);
  form.operands.push_back({.position = At::c, .access = LibraryAccess::write, .takes = has_rows});
  GemmSpec known = spec;
  known.dtype = op.out_type(0).dtype;
  form.spec = [known](const LibraryLayouts& layouts) { return spec_of(known, layouts); };
  return form;
}

}  // namespace cleave
