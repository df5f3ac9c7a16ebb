// The windows of an image, in the order in which im2col and col2im visit them.
//
//   image [n, c, *size]  <->  columns [n, c * prod(kernel), prod(windows)]; n may be missing
//   image position = window * stride - padding + kernel position * dilation
//   windows = floor((size + 2 padding - dilation (kernel - 1) - 1) / stride) + 1
//
//   (C1) kernel_size has 1 to 4 entries (ATen: 2), the other lists as many, or one for all
//   (C2) kernel_size, dilation, stride >= 1; padding >= 0
//   (C3) self is floating
//   (C5) the kernel fits into the padded size
#pragma once
#include "op/cost.h"
#include "op/dims.h"
#include "op/entry.h"
#include "op/sample_sets.h"
#include "op/taps.h"

namespace cleave {

struct Windows {
  std::vector<int64_t> kernel, dilation, padding, stride;
  size_t rank() const { return kernel.size(); }
  int64_t kernel_size() const { return numel_of(kernel); }
  Dim count(const Dim& size, size_t d) const {
    const int64_t reach = dilation[d] * (kernel[d] - 1) + 1;
    return Dim::floordiv(size + Dim(2 * padding[d] - reach), Dim(stride[d])) + Dim(1);
  }
  std::vector<int64_t> counts(const std::vector<int64_t>& size) const {
    std::vector<int64_t> out;
    for (size_t d = 0; d < rank(); ++d) out.push_back(count(Dim(size[d]), d).value());
    return out;
  }
};

Windows windows_of(const OpView& op);
// Checks C1 to C3.
Result<Windows> checked_windows(const OpView& op);
// Checks C5; returns the number of windows over these sizes.
Result<Dim> checked_window_count(const OpView& op, const Windows& w, const Shape& size);

// For references: calls f(image element or -1, column element) for every element of the columns.
void for_each_column_element(const OpView& op, const std::vector<int64_t>& image,
                             const std::function<void(int64_t, int64_t)>& f);

// The index space that both kernels visit: planes [n,c] of an image, and the rows of the columns.
struct ColumnWalk {
  Windows w;
  std::vector<int64_t> lead, size, counts;  // [n,c] or [c]; of the image; windows by dim
  ColumnWalk(const OpView& op, const std::vector<int64_t>& image);
  size_t last() const { return w.rank() - 1; }

  // Index into the columns: n, the row of channel c and kernel position, the window.
  loop::Exprs column(const loop::Exprs& plane, const loop::Exprs& kernel,
                     const loop::Exprs& window) const;
  // Position in dim d of the image; may be out of bounds.
  loop::Expr image(size_t d, const loop::Expr& window, const loop::Expr& kernel) const {
    return window * loop::Expr(w.stride[d]) + kernel * loop::Expr(w.dilation[d]) -
           loop::Expr(w.padding[d]);
  }
  // The windows of dim d whose image position at this kernel position is in bounds: [begin, end).
  struct Range {
    loop::Expr begin, end;
  };
  Range seen(loop::KernelBuilder& k, size_t d, const loop::Expr& kernel) const;
};

// The attributes common to the two operators, for their gradients.
NamedAttrs window_attrs(const OpView& op);
SampleAttrs window_call(std::vector<int64_t> kernel, std::vector<int64_t> dilation,
                        std::vector<int64_t> padding, std::vector<int64_t> stride,
                        const std::vector<int64_t>& output_size = {});

}  // namespace cleave
