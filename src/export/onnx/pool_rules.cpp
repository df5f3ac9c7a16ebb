// Pooling. MaxPool and AveragePool where they say the same; else windows are gathered and folded.
#include <algorithm>
#include <cmath>
#include <limits>

#include "export/onnx/rules.h"
#include "op/pool.h"

namespace cleave::to_onnx {
namespace {

constexpr int64_t most_pieces = 1024;  // of an adaptive pooling, in one dim

Ints twice(const Ints& list) {
  Ints out = list;
  out.insert(out.end(), list.begin(), list.end());
  return out;
}

Attributes attributes_of(const PoolWindows& w) {
  return {integers("kernel_shape", w.kernel), integers("strides", w.stride),
          integers("pads", twice(w.padding)), integer("ceil_mode", 0)};
}

// Spatial sizes of the image and counts of windows. Failure (unsupported): one is symbolic.
struct Extents {
  Ints size, count;
};
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

// x[..., *size] as [..., *count, elements of a window], `outside` where a window leaves the image.
struct Gathered {
  V elements, inside;  // bool[*count, elements]
  Ints position;       // by window and element, row-major in the image; -1 outside
  int64_t taps = 1;
};

Gathered gathered(Call& c, V x, const PoolWindows& w, const Extents& e, double outside) {
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

// ---- means

bool is_plain_mean(Call& c, const V& x, const PoolWindows& w) {
  return x.dtype == DType::f32 && !w.ceil_mode && !c.op().given("divisor_override");
}

// What the sum of each window is divided by.
V divisors(Call& c, const PoolWindows& w, const Extents& e, DType t) {
  const bool pads = c.op().bool_attr("count_include_pad");
  HostTensor out(DType::f64, e.count);
  Ints window(w.rank(), 0);
  int64_t k = 0;
  do {
    int64_t n = 1;
    for (size_t d = 0; d < w.rank(); ++d) {
      const int64_t from = window[d] * w.stride[d] - w.padding[d];
      const int64_t to = std::min(from + w.kernel[d], e.size[d] + w.padding[d]);
      n *= pads ? to - from : std::min(to, e.size[d]) - std::max<int64_t>(from, 0);
    }
    if (c.op().given("divisor_override")) n = c.op().int_attr("divisor_override");
    out.set_number(k++, static_cast<double>(n));
  } while (next_index(window, e.count));
  return c.model().constant(out.to(t));
}

Status avg_pool(Call& c, size_t rank) {
  const PoolWindows w = pool_windows(c.op(), rank);
  V x = c.carried(0);
  const bool batch = c.rank(0) == static_cast<int64_t>(rank) + 2;
  if (is_plain_mean(c, x, w) && !is_empty(c.shape(0))) {
    Attributes attributes = attributes_of(w);
    attributes.push_back(integer("count_include_pad", c.op().bool_attr("count_include_pad")));
    const V y = c.node("AveragePool", {batch ? x : c.unsqueeze(x, {0})}, std::move(attributes));
    c.give(0, batch ? y : c.squeeze(y, {0}));
    return {};
  }
  CLEAVE_TRY(const Extents e, extents_of(c, rank));
  const Gathered g = gathered(c, x, w, e, 0);
  c.give(0, c.node("Div", {c.reduce("ReduceSum", g.elements, {-1}, false),
                           divisors(c, w, e, x.dtype)}));
  return {};
}
Status avg_pool2d(Call& c) { return avg_pool(c, 2); }
Status avg_pool3d(Call& c) { return avg_pool(c, 3); }

// Each result is the mean of a slice of its own size, in one dim after the other.
Status adaptive(Call& c, size_t rank) {
  CLEAVE_TRY(const Extents e, extents_of(c, rank));
  V x = c.carried(0);
  if (std::ranges::count(e.count, 1) == std::ssize(e.count) && !is_empty(c.shape(0))) {
    Ints axes;
    for (size_t d = 0; d < rank; ++d) axes.push_back(static_cast<int64_t>(d) - static_cast<int64_t>(rank));
    c.give(0, c.reduce("ReduceMean", x, axes, true));
    return {};
  }
  for (size_t d = 0; d < rank; ++d) {
    const int64_t dim = c.rank(0) - static_cast<int64_t>(rank - d), n = e.size[d], m = e.count[d];
    if (m > most_pieces) return c.refused("more than {} windows in a dim", most_pieces);
    if (m == 0) {
      x = c.slice(x, dim, Dim(0), Dim(0));
      continue;
    }
    Vs pieces;
    for (int64_t o = 0; o < m; ++o) {
      const int64_t from = o * n / m, to = ((o + 1) * n + m - 1) / m;
      pieces.push_back(
          c.reduce("ReduceMean", c.slice(x, dim, Dim(from), Dim(to)), {dim}, true));
    }
    x = c.concat(pieces, dim);
  }
  c.give(0, x);
  return {};
}
Status adaptive2d(Call& c) { return adaptive(c, 2); }
Status adaptive3d(Call& c) { return adaptive(c, 3); }

// ---- maxima

// The largest, NaN where there is one. MaxPool leaves NaN open.
V plain_max(Call& c, const V& x, const PoolWindows& w) {
  Attributes attributes = attributes_of(w);
  attributes.push_back(integers("dilations", w.dilation));
  const V y = c.node("MaxPool", {x}, attributes);
  const V flags = c.node("MaxPool", {nan_flags(c, x)}, attributes);
  return with_nan(c, flags, y);
}

bool some_window_is_outside(const PoolWindows& w, const Extents& e) {
  for (size_t d = 0; d < w.rank(); ++d)
    for (int64_t o = 0; o < e.count[d]; ++o)
      if (w.is_outside(d, e.size[d], o)) return true;
  return false;
}

// The first of the largest, or the last NaN, and its position in the image.
Status windowed_max(Call& c, const V& x, const PoolWindows& w, const Extents& e) {
  if (some_window_is_outside(w, e)) return c.refused("a window that covers padding alone");
  const bool floats = is_floating(x.dtype);
  const double least = floats ? -INFINITY : x.dtype == DType::i64 ? -0x1p63 : -0x1p31;
  const Gathered g = gathered(c, x, w, e, least);
  V y = c.reduce("ReduceMax", g.elements, {-1}, true);
  V best = c.cast(c.node("And", {c.compare("Equal", g.elements, y), g.inside}), DType::i32);
  const auto position = [&](const V& flags, int64_t last) {
    return c.node("ArgMax", {flags}, DType::i64,
                  {integer("axis", -1), integer("keepdims", 0), integer("select_last_index", last)});
  };
  V tap = position(best, 0);
  y = c.squeeze(y, {-1});
  if (floats) {
    const V nan = nan_flags(c, g.elements);
    const V flags = c.reduce("ReduceMax", nan, {-1}, false);
    y = with_nan(c, flags, y);
    const V any = c.compare("Greater", flags, c.number(0, DType::f32));
    tap = c.where(any, position(c.cast(nan, DType::i32), 1), tap);
  }
  c.give(0, y);
  if (!c.wants(1)) return {};
  Ints first;
  for (size_t k = 0; k < g.position.size(); k += static_cast<size_t>(g.taps))
    first.push_back(static_cast<int64_t>(k));
  const V at = c.node("Add", {integers_of(c, first, e.count), tap});
  c.give(1, c.gather(c.model().list(g.position), at, 0));
  return {};
}

Status max_pool(Call& c, size_t rank) {
  const PoolWindows w = pool_windows(c.op(), rank);
  const V x = c.carried(0);
  const Result<Extents> e = extents_of(c, rank);
  const bool plain = is_floating(x.dtype) && !w.ceil_mode && !c.wants(1) &&
                     (!e.ok() || !some_window_is_outside(w, *e)) &&
                     !is_empty(c.shape(0));
  if (!plain) {
    if (!e.ok()) return e.failure();
    return windowed_max(c, x, w, *e);
  }
  const bool batch = c.rank(0) == static_cast<int64_t>(rank) + 2;
  const V y = plain_max(c, batch ? x : c.unsqueeze(x, {0}), w);
  c.give(0, batch ? y : c.squeeze(y, {0}));
  return {};
}
Status max_pool2d(Call& c) { return max_pool(c, 2); }
Status max_pool3d(Call& c) { return max_pool(c, 3); }

constexpr RuleEntry rules[] = {{"avg_pool2d", avg_pool2d},
                               {"avg_pool3d", avg_pool3d},
                               {"_adaptive_avg_pool2d", adaptive2d},
                               {"_adaptive_avg_pool3d", adaptive3d},
                               {"max_pool2d_with_indices", max_pool2d},
                               {"max_pool3d_with_indices", max_pool3d}};

}  // namespace

std::span<const RuleEntry> pool_rules() { return rules; }

}  // namespace cleave::to_onnx
