// col2im(self; output_size, kernel_size, dilation, padding, stride) -> y
//   y[n, c, i..] = sum of x[n, (c,k..), (o..)] over k and o with
//                  o*stride - padding + k*dilation = i
//   (C1, C2, C3, C5) im2col.h, of output_size   (C4) self has rank 2 or 3
//   (C6) the sizes of self are those of im2col's result for output_size
// The transpose of im2col.
// Source: ATen/native/Col2Im.cpp, PyTorch 2.13.
#include "op/im2col.h"

namespace cleave {
namespace {

using loop::Expr;
using loop::Exprs;
using loop::KernelBuilder;
using Ints = std::vector<int64_t>;

Result<Types> infer_col2im(const OpView& op) {
  CLEAVE_TRY(const Windows w, checked_windows(op));
  const Type& x = op.in_type(0);
  const Shape size = op.dims_attr("output_size");
  if (size.size() != w.rank())
    return op.broken("C1", "output_size has {} entries, expected {}, as many as kernel_size",
                     size.size(), w.rank());
  if (x.rank() != 2 && x.rank() != 3)
    return op.broken("C4", "self is {}, expected rank 2 or 3", x.text());
  CLEAVE_TRY(const Dim count, checked_window_count(op, w, size));
  CLEAVE_CHECK(check_equal(op, "C6", "windows and the last dim of self", count, x.shape.back()));
  const Dim rows = x.shape[x.shape.size() - 2], channels = Dim::floordiv(rows, w.kernel_size());
  CLEAVE_CHECK(check_equal(op, "C6", "rows of self and a multiple of the kernel's elements", rows,
                           channels * Dim(w.kernel_size())));
  Shape shape(x.shape.begin(), x.shape.end() - 2);
  shape.push_back(channels);
  shape.insert(shape.end(), size.begin(), size.end());
  return Types{typed_like(x, x.dtype, std::move(shape))};
}

Result<Arrays> reference_col2im(const OpView& op, std::span<const Array* const> in) {
  Array y(in[0]->dtype, static_shape(op.out_type(0)));
  for_each_column_element(op, y.shape, [&](int64_t image, int64_t column) {
    if (image >= 0) y.f[image] += in[0]->f[column];
  });
  return Arrays{y};
}

// The window that contains image position i at this kernel position, and whether it exists.
struct Seer {
  Expr window, exists;
};
Seer seer(KernelBuilder& k, const ColumnWalk& walk, size_t d, const Expr& i, const Expr& kernel) {
  const Windows& w = walk.w;
  const Expr off = k.let(i + Expr(w.padding[d]) - kernel * Expr(w.dilation[d]), "off");
  Seer s{off, binary(loop::Op::ge, off, Expr(0))};
  if (w.stride[d] != 1) {
    s.window = k.let(binary(loop::Op::truncdiv, off, Expr(w.stride[d])), "w");
    s.exists = both_hold(s.exists, binary(loop::Op::eq, s.window * Expr(w.stride[d]), off));
  }
  s.exists = both_hold(s.exists, binary(loop::Op::lt, s.window, Expr(walk.counts[d])));
  return s;
}

// One row of the image at a time: each kernel position adds its part of a row of the columns.
void add_rows(KernelBuilder& k, const ColumnWalk& walk, const Expr& zero) {
  const size_t last = walk.last();
  k.parallel(walk.lead, [&](const Exprs& plane) {
    k.loops({walk.size.begin(), walk.size.end() - 1}, [&](const Exprs& outer) {
      const auto image = [&](const Expr& i) {
        Exprs at = plane;
        at.insert(at.end(), outer.begin(), outer.end());
        at.push_back(i);
        return at;
      };
      k.loop(Expr(walk.size[last]), [&](const Expr& i) { k.store(0, image(i), zero); });
      k.loops({walk.w.kernel.begin(), walk.w.kernel.end() - 1}, [&](const Exprs& kernel) {
        Expr exists;
        Exprs windows;
        for (size_t d = 0; d < last; ++d) {
          const Seer s = seer(k, walk, d, outer[d], kernel[d]);
          exists = both_hold(exists, s.exists);
          windows.push_back(s.window);
        }
        const auto add = [&] {
          k.loop(Expr(walk.w.kernel[last]), [&](const Expr& kl) {
            Exprs at_kernel = kernel;
            at_kernel.push_back(kl);
            const ColumnWalk::Range range = walk.seen(k, last, kl);
            k.loop(range.end - range.begin, [&](const Expr& j) {
              Exprs at_window = windows;
              at_window.push_back(range.begin + j);
              const Exprs to = image(walk.image(last, at_window.back(), kl));
              k.store(0, to,
                      k.load_result(0, to) + k.load(0, walk.column(plane, at_kernel, at_window)));
            });
          });
        };
        if (exists.defined())
          k.if_(exists, add);
        else
          add();
      });
    });
  });
}

// One element of the image at a time, summed before it is rounded to bf16 or f16.
void sum_elements(KernelBuilder& k, const ColumnWalk& walk, const Expr& zero) {
  Ints shape = walk.lead;
  shape.insert(shape.end(), walk.size.begin(), walk.size.end());
  k.parallel(shape, [&](const Exprs& i) {
    const auto split = i.end() - static_cast<std::ptrdiff_t>(walk.w.rank());
    const Exprs plane(i.begin(), split), at(split, i.end());
    const Expr sum = k.define(zero, "sum");
    k.loops(walk.w.kernel, [&](const Exprs& kernel) {
      Expr exists;
      Exprs windows;
      for (size_t d = 0; d < at.size(); ++d) {
        const Seer s = seer(k, walk, d, at[d], kernel[d]);
        exists = both_hold(exists, s.exists);
        windows.push_back(s.window);
      }
      k.if_(exists, [&] { k.assign(sum, sum + k.load(0, walk.column(plane, kernel, windows))); });
    });
    k.store(0, i, sum);
  });
}

void lower_col2im(KernelBuilder& k, const OpView& op) {
  const ColumnWalk walk(op, static_shape(op.out_type(0)));
  if (numel_of(walk.lead) * numel_of(walk.size) == 0) return;
  const DType t = op.out_type(0).dtype;
  const Expr zero = loop::constant(loop::compute_type(t), 0);
  if (size_of(t) < 4)
    sum_elements(k, walk, zero);
  else
    add_rows(k, walk, zero);
}

std::vector<Sample> col2im_samples() {
  std::vector<Sample> out;
  for (DType t : floating_dtypes)
    out.push_back({{any_of(t, {2, 12, 10})}, window_call({2, 3}, {1}, {1, 0}, {1, 2}, {4, 5})});
  const auto add = [&](Ints shape, const SampleAttrs& attrs) {
    out.push_back({{f32(std::move(shape))}, attrs});
  };
  add({1, 9, 16}, window_call({3, 3}, {1}, {1}, {1}, {4, 4}));
  add({1, 2, 6}, window_call({1, 1}, {1}, {0}, {1}, {2, 3}));
  add({1, 8, 9}, window_call({2, 2}, {2}, {0}, {1}, {5, 5}));
  add({1, 6, 9}, window_call({3, 2}, {2, 3}, {2, 1}, {3, 2}, {7, 6}));
  add({2, 15, 20}, window_call({5}, {1}, {2}, {1}, {20}));
  add({1, 16, 32}, window_call({2, 2, 2}, {1}, {1, 0, 1}, {1, 2, 1}, {3, 4, 3}));
  add({8, 6}, window_call({2, 2}, {1}, {0}, {1}, {4, 3}));
  add({0, 4, 6}, window_call({2, 2}, {1}, {0}, {1}, {4, 3}));
  add({1, 2, 2}, window_call({2}, {1}, {0}, {3}, {7}));
  add({0, 4, 9}, window_call({2, 2}, {1}, {0}, {1}, {4, 4}));
  add({1, 0, 9}, window_call({2, 2}, {1}, {0}, {1}, {4, 4}));
  for (DType t : floating_dtypes)
    out.push_back({{any_of(t, {6, 4})}, window_call({3}, {2}, {1}, {1}, {6})});
  add({1, 32, 1}, window_call({4, 4}, {1}, {0}, {1}, {4, 4}));
  add({1, 8, 6}, window_call({2, 2}, {1}, {3}, {4}, {3, 5}));
  add({1, 9, 1}, window_call({3, 3}, {4}, {0}, {1}, {9, 9}));
  add({1, 18, 210}, window_call({2, 3}, {1}, {1}, {1}, {2, 70}));
  add({2, 9, 36}, window_call({3, 3}, {1}, {2}, {1}, {4, 4}));
  add({1, 4, 16}, window_call({2, 2}, {3}, {2}, {1}, {3, 3}));
  out.push_back({{f32({1, 4, 2}).with({1, NAN, INFINITY, 0, -INFINITY, 2, INFINITY, 1})},
                 window_call({2, 2}, {1}, {0}, {1}, {2, 3})});
  // With many addends at one position, they are accumulated unrounded.
  for (DType t : {DType::bf16, DType::f16})
    out.push_back({{any_of(t, {1, 25, 25})}, window_call({5, 5}, {1}, {2}, {1}, {5, 5})});
  return out;
}

OpDef col2im() {
  return OpDef{
      .name = "col2im",
      .signature =
          "(Tensor self, SymInt[] output_size, int[] kernel_size, int[] dilation, int[] padding, "
          "int[] stride) -> Tensor",
      .summary = "Columns added up where their windows lie in an image.",
      .source = "aten::col2im, PyTorch 2.13",
      .traits = Trait::fusible | Trait::recomputable,
      .infer = infer_col2im,
      .reference = reference_col2im,
      .decompose = Absent{"a primitive of data movement"},
      .grad = [](Builder& b, const GradView& op) -> Values {
        return {b.call1("im2col", {op.dout(0)}, window_attrs(op))};
      },
      .lower = loop::kernel(lower_col2im),
      .cost = cost_per_operand(1),
      .samples = col2im_samples,
      .rejects = []() -> Rejects {
        return {{"C1",
                 {{f32({1, 4, 1})}, window_call({2, 2}, {1}, {0}, {1}, {2})},
                 "col2im: C1: output_size has 1 entries, expected 2, as many as kernel_size"},
                {"C4",
                 {{f32({4})}, window_call({2, 2}, {1}, {0}, {1}, {2, 2})},
                 "col2im: C4: self is f32[4], expected rank 2 or 3"},
                {"C6",
                 {{f32({1, 4, 2})}, window_call({2, 2}, {1}, {0}, {1}, {2, 2})},
                 "col2im: C6: windows and the last dim of self: 1 and 2, expected equal"},
                {"C6",
                 {{f32({1, 5, 1})}, window_call({2, 2}, {1}, {0}, {1}, {2, 2})},
                 "col2im: C6: rows of self and a multiple of the kernel's elements: 5 and 4, "
                 "expected equal"}};
      },
  };
}

}  // namespace

CLEAVE_OPS(col2im) { return {col2im()}; }

}  // namespace cleave
