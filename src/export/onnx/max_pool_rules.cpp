// Pooling by maxima: MaxPool where it says the same, else gathered windows.
#include <cmath>

#include "export/onnx/windows.h"

namespace cleave::to_onnx {
namespace {

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
  CLEAVE_TRY(const Gathered g, gathered(c, x, w, e, least));
  V y = c.reduce("ReduceMax", g.elements, {-1}, true);
  V best = c.cast(c.node("And", {c.compare("Equal", g.elements, y), g.inside}), DType::i32);
  const auto position = [&](const V& flags, int64_t last) {
    return c.node(
        "ArgMax", {flags}, DType::i64,
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
  if (e.ok()) CLEAVE_CHECK(c.check_count(e->count));
  const bool plain = is_floating(x.dtype) && !w.ceil_mode && !c.wants(1) &&
                     (!e.ok() || !some_window_is_outside(w, *e)) && !is_empty(c.shape(0));
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

constexpr RuleEntry rules[] = {{"max_pool2d_with_indices", max_pool2d},
                               {"max_pool3d_with_indices", max_pool3d}};

}  // namespace

std::span<const RuleEntry> max_pool_rules() { return rules; }

}  // namespace cleave::to_onnx
