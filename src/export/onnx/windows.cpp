#include "export/onnx/windows.h"

#include <algorithm>

namespace cleave::to_onnx {
namespace {

Ints twice(const Ints& list) {
  Ints out = list;
  out.insert(out.end(), list.begin(), list.end());
  return out;
}

}  // namespace

Attributes attributes_of(const PoolWindows& w) {
  return {integers("kernel_shape", w.kernel), integers("strides", w.stride),
          integers("pads", twice(w.padding)), integer("ceil_mode", 0)};
}

Result<Extents> extents_of(Call& c, size_t rank) {
  Extents e;
  for (size_t d = rank; d-- > 0;) {
    const Dim &in = c.shape(0)[c.shape(0).size() - 1 - d],
              &out = c.result(0).shape[c.result(0).shape.size() - 1 - d];
    if (!in.is_const() || !out.is_const()) return c.refused("sizes that aren't numbers");
    e.size.push_back(in.value());
    e.count.push_back(out.value());
  }
  return e;
}

V integers_of(Call& c, const Ints& values, Ints shape) {
  return c.model().constant(HostTensor::from<int64_t>(values, std::move(shape)));
}

Result<Gathered> gathered(Call& c, V x, const PoolWindows& w, const Extents& e, double outside) {
  Ints all = e.count;
  all.insert(all.end(), w.kernel.begin(), w.kernel.end());
  CLEAVE_CHECK(c.check_count(all));
  const auto rank = static_cast<int64_t>(w.rank()), lead = c.rank(0) - rank;
  Gathered out;
  Ints perm = all_axes(lead), shape;
  for (int64_t d = 0; d < rank; ++d) {
    const auto k = static_cast<size_t>(d);
    Ints at;
    for (int64_t o = 0; o < e.count[k]; ++o)
      for (int64_t t = 0; t < w.kernel[k]; ++t)
        at.push_back(std::clamp(o * w.stride[k] - w.padding[k] + t * w.dilation[k], int64_t{0},
                                e.size[k] - 1));
    x = c.gather(x, integers_of(c, at, {e.count[k], w.kernel[k]}), lead + 2 * d);
    perm.push_back(lead + 2 * d);
    out.taps *= w.kernel[k];
  }
  for (int64_t d = 0; d < rank; ++d) perm.push_back(lead + 2 * d + 1);
  Shape to(c.shape(0).begin(), c.shape(0).begin() + lead);
  for (const int64_t n : e.count) to.emplace_back(n), shape.push_back(n);
  to.emplace_back(out.taps);
  x = c.reshape(c.transpose(x, perm), to);
  Ints window(w.rank(), 0);
  do {
    Ints tap(w.rank(), 0);
    do {
      int64_t p = 0;
      for (size_t d = 0; d < w.rank() && p >= 0; ++d) {
        const int64_t at = window[d] * w.stride[d] - w.padding[d] + tap[d] * w.dilation[d];
        p = at < 0 || at >= e.size[d] ? -1 : p * e.size[d] + at;
      }
      out.position.push_back(p);
    } while (next_index(tap, w.kernel));
  } while (next_index(window, e.count));
  shape.push_back(out.taps);
  HostTensor inside(DType::boolean, shape);
  for (size_t k = 0; k < out.position.size(); ++k)
    inside.set_number(static_cast<int64_t>(k), out.position[k] >= 0);
  out.inside = c.model().constant(std::move(inside));
  out.elements = c.where(out.inside, x, c.number(outside, x.dtype));
  return out;
}

}  // namespace cleave::to_onnx
