// Pooling by means: AveragePool where it says the same, else sums of gathered windows.
#include <algorithm>

#include "export/onnx/windows.h"

namespace cleave::to_onnx {
namespace {

constexpr int64_t most_pieces = 1024;  // of an adaptive pooling, in one dim

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
  CLEAVE_TRY(const Gathered g, gathered(c, x, w, e, 0));
  c.give(0, c.node("Div",
                   {c.reduce("ReduceSum", g.elements, {-1}, false), divisors(c, w, e, x.dtype)}));
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
    for (size_t d = 0; d < rank; ++d)
      axes.push_back(static_cast<int64_t>(d) - static_cast<int64_t>(rank));
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
      pieces.push_back(c.reduce("ReduceMean", c.slice(x, dim, Dim(from), Dim(to)), {dim}, true));
    }
    x = c.concat(pieces, dim);
  }
  c.give(0, x);
  return {};
}
Status adaptive2d(Call& c) { return adaptive(c, 2); }
Status adaptive3d(Call& c) { return adaptive(c, 3); }

constexpr RuleEntry rules[] = {{"avg_pool2d", avg_pool2d},
                               {"avg_pool3d", avg_pool3d},
                               {"_adaptive_avg_pool2d", adaptive2d},
                               {"_adaptive_avg_pool3d", adaptive3d}};

}  // namespace

std::span<const RuleEntry> mean_pool_rules() { return rules; }

}  // namespace cleave::to_onnx
