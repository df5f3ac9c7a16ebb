// Windows over the spatial dims of convolutions and pools: their attributes, made explicit.
#pragma once
#include "import/onnx/call.h"

namespace cleave::onnx {

struct Windows {
  Ints kernel, stride, dilation, before, after;  // one each for a spatial dim
  bool ceil = false;
  size_t dims() const { return kernel.size(); }
  bool symmetric() const { return before == after; }
  int64_t extent(size_t d) const { return (kernel[d] - 1) * dilation[d] + 1; }
  // Results along a spatial dim of that size.
  int64_t results(size_t d, int64_t size) const;
};

// Of an operand [n, c, spatial...] of known sizes. Errors (user): lists of another length, numbers
// below their least.
Result<Windows> windows_of(Call& c, Ints kernel, const Shape& operand);
// x with borders of `value`, so that windows need none.
V with_borders(Call& c, V x, const Windows& windows, const AttrValue& value);
// The spatial dims of an operand. Failure (unsupported): one of them is symbolic.
Result<Ints> spatial_sizes(const Shape& operand);

}  // namespace cleave::onnx
