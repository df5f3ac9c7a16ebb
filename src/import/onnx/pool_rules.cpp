// Pools: windows reduced to their largest element, mean or norm.
//
// A pool is written as the reduction of its windows, taken one element after the other:
//
//   y = f(x[k0::stride], x[k1::stride], ...)    over the offsets k of the kernel
//
// for kernels that cleave's own pools don't cover (dilated, uneven borders, integers), and by these
// where they do.
#include <algorithm>
#include <limits>

#include "import/onnx/rules.h"
#include "import/onnx/windows.h"

namespace cleave::onnx {
namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();
constexpr int64_t most_offsets = 4096;

double lowest(DType t) {
  switch (t) {
    case DType::i8: return -128;
    case DType::u8: return 0;
    default: return -infinity;
  }
}

// Borders that hold all windows, so that each has as many elements.
void cover_windows(Windows& w, const Ints& sizes) {
  for (size_t d = 0; d < w.dims(); ++d) {
    const int64_t n = w.results(d, sizes[d + 2]);
    const int64_t reach = (n - 1) * w.stride[d] + w.extent(d);
    w.after[d] = std::max(w.after[d], reach - sizes[d + 2] - w.before[d]);
  }
}

// f over the elements of each window of x, which has its borders.
using Fold = V (*)(Call&, V, V);
Result<V> folded(Call& c, V x, const Windows& w, const Ints& results, Fold f) {
  int64_t offsets = 1;
  for (const int64_t k : w.kernel) {
    offsets *= std::min(k, most_offsets + 1);
    if (offsets > most_offsets)
      return unsupported("windows of more than {} elements", most_offsets);
  }
  V all = V::none();
  for (int64_t offset = 0; offset < offsets && c.status().ok(); ++offset) {
    V part = x;
    int64_t rest = offset;
    for (size_t d = w.dims(); d-- > 0;) {
      const int64_t at = rest % w.kernel[d] * w.dilation[d];
      rest /= w.kernel[d];
      part = c.slice(part, static_cast<int64_t>(d) + 2, at, at + (results[d] - 1) * w.stride[d] + 1,
                     w.stride[d]);
    }
    all = all.valid() ? f(c, all, part) : part;
  }
  return all;
}

Ints results_of(const Windows& w, const Ints& sizes) {
  Ints out;
  for (size_t d = 0; d < w.dims(); ++d) out.push_back(w.results(d, sizes[d + 2]));
  return out;
}

V larger(Call& c, V a, V b) { return c.op("maximum", {a, b}); }
V plus(Call& c, V a, V b) { return c.add(a, b); }

// Of each window the largest element, and its place in the operand.
Result<V> places_of_largest(Call& c, const Windows& w, const Ints& sizes, const Ints& results,
                            V padded) {
  // The elements' own numbers, -1 in the borders; in column-major order where that is asked for.
  int64_t plane = 1;
  for (size_t d = 2; d < sizes.size(); ++d) plane *= sizes[d];
  const bool columns = c.integer("storage_order") != 0;
  Shape grid(sizes.size(), Dim(1)), all(sizes.begin(), sizes.end());
  V number = c.full(grid, 0, DType::i64);
  int64_t step = 1;
  for (size_t k = 2; k < sizes.size(); ++k) {
    const size_t d = columns ? k : sizes.size() + 1 - k;
    Shape line(sizes.size(), Dim(1));
    line[d] = sizes[d];
    const V at = c.view(c.op("arange", {}, {{"end", sizes[d]}}), line);
    number = c.add(number, c.mul(at, AttrValue(step)));
    step *= sizes[d];
  }
  for (size_t d = 0; d < 2; ++d) {  // each plane counts on
    Shape line(sizes.size(), Dim(1));
    line[d] = sizes[d];
    const int64_t by = d == 0 ? sizes[1] * plane : plane;
    number =
        c.add(number, c.mul(c.view(c.op("arange", {}, {{"end", sizes[d]}}), line), AttrValue(by)));
  }
  Windows borders = w;
  number = with_borders(c, c.expand(number, all), borders, -1);
  V best = V::none(), where = V::none();
  int64_t offsets = 1;
  for (const int64_t k : w.kernel) offsets *= k;
  for (int64_t offset = 0; offset < offsets && c.status().ok(); ++offset) {
    V x = padded, place = number;
    int64_t rest = offset;
    for (size_t d = w.dims(); d-- > 0;) {
      const int64_t at = rest % w.kernel[d] * w.dilation[d];
      rest /= w.kernel[d];
      const int64_t dim = static_cast<int64_t>(d) + 2,
                    end = at + (results[d] - 1) * w.stride[d] + 1;
      x = c.slice(x, dim, at, end, w.stride[d]);
      place = c.slice(place, dim, at, end, w.stride[d]);
    }
    if (!best.valid()) {
      best = x;
      where = place;
      continue;
    }
    const V more = c.op("logical_or", {c.op("gt", {x, best}), c.op("lt", {where, 0})});
    best = c.where(more, x, best);
    where = c.where(more, place, where);
  }
  return where;
}

Status max_pool(Call& c) {
  CLEAVE_TRY(Windows w, windows_of(c, c.list("kernel_shape"), c.shape(0)));
  const Shape s = c.shape(0);
  V x = c.in(0);
  const bool floats = is_floating(c.dtype(0));
  bool plain = floats && w.symmetric() && w.dims() == 2 && !c.wants(1);
  for (size_t d = 0; d < w.dims(); ++d) plain = plain && 2 * w.before[d] <= w.kernel[d];
  if (plain) {
    const Values y = c.ops("max_pool2d_with_indices", {x},
                           {{"kernel_size", w.kernel},
                            {"stride", w.stride},
                            {"padding", w.before},
                            {"dilation", w.dilation},
                            {"ceil_mode", w.ceil}});
    if (!y.empty()) c.give(0, y[0], c.element(0));
    return {};
  }
  CLEAVE_TRY(const Ints sizes, c.sizes(0));
  const Ints results = results_of(w, sizes);
  cover_windows(w, sizes);
  Windows borders = w;
  const V padded = with_borders(c, x, borders, lowest(c.dtype(0)));
  CLEAVE_TRY(const V y, folded(c, padded, w, results, larger));
  c.give(0, y, c.element(0));
  if (c.wants(1)) {
    CLEAVE_TRY(const V places, places_of_largest(c, w, sizes, results, padded));
    c.give(1, places);
  }
  return {};
}

// Sums over windows by the number of elements in each: all of them, or those of the operand.
Status average_pool(Call& c) {
  CLEAVE_TRY(Windows w, windows_of(c, c.list("kernel_shape"), c.shape(0)));
  const bool with_pads = c.integer("count_include_pad") != 0;
  bool plain = w.symmetric() && w.dims() <= 3 && !w.ceil;
  for (size_t d = 0; d < w.dims(); ++d)
    plain = plain && w.dilation[d] == 1 && 2 * w.before[d] <= w.kernel[d];
  V x = c.in(0);
  if (plain) {
    const V y = c.op(fmt::format("avg_pool{}d", w.dims()), {x},
                     {{"kernel_size", w.kernel},
                      {"stride", w.stride},
                      {"padding", w.before},
                      {"count_include_pad", with_pads}});
    c.give(0, y, c.element(0));
    return {};
  }
  CLEAVE_TRY(const Ints sizes, c.sizes(0));
  const Ints results = results_of(w, sizes);
  Windows asked = w;
  cover_windows(w, sizes);
  // Elements that count, as numbers: those of the operand, and of the pads that were asked for.
  V one = c.full(Shape(sizes.begin(), sizes.end()), 1, c.dtype(0));
  if (with_pads) {
    one = with_borders(c, one, asked, 1);
    Windows rest = w;
    CLEAVE_TRY(const Windows given, windows_of(c, c.list("kernel_shape"), c.shape(0)));
    for (size_t d = 0; d < w.dims(); ++d) {
      rest.before[d] = 0;
      rest.after[d] = w.after[d] - given.after[d];
    }
    one = with_borders(c, one, rest, 0);
  } else {
    Windows borders = w;
    one = with_borders(c, one, borders, 0);
  }
  Windows borders = w;
  const V padded = with_borders(c, x, borders, 0);
  CLEAVE_TRY(const V sum, folded(c, padded, w, results, plus));
  CLEAVE_TRY(const V count, folded(c, one, w, results, plus));
  c.give(0, c.div(sum, count), c.element(0));
  return {};
}

Status lp_pool(Call& c) {
  CLEAVE_TRY(Windows w, windows_of(c, c.list("kernel_shape"), c.shape(0)));
  const double p = static_cast<double>(c.integer("p", 2));
  CLEAVE_TRY(const Ints sizes, c.sizes(0));
  const Ints results = results_of(w, sizes);
  cover_windows(w, sizes);
  const V powers = c.op("pow", {c.op("abs", {c.in(0)}), p});
  CLEAVE_TRY(const V sum, folded(c, with_borders(c, powers, w, 0), w, results, plus));
  c.give(0, c.op("pow", {sum, 1 / p}), c.element(0));
  return {};
}

Status global_pool(Call& c, V (*f)(Call&, V, Ints)) {
  if (c.rank(0) < 3) return user_error("the operand has {} dims, expected 3 or more", c.rank(0));
  c.give(0, f(c, c.in(0), other_axes(c.rank(0), {0, 1})), c.element(0));
  return {};
}
Status global_average(Call& c) {
  return global_pool(c, [](Call& k, V x, Ints axes) { return k.mean(x, std::move(axes), true); });
}
Status global_max(Call& c) {
  return global_pool(c, [](Call& k, V x, Ints axes) { return k.amax(x, std::move(axes), true); });
}
Status global_lp(Call& c) {
  const double p = static_cast<double>(c.integer("p", 2));
  if (c.rank(0) < 3) return user_error("the operand has {} dims, expected 3 or more", c.rank(0));
  const V powers = c.op("pow", {c.op("abs", {c.in(0)}), p});
  c.give(0, c.op("pow", {c.sum(powers, other_axes(c.rank(0), {0, 1}), true), 1 / p}), c.element(0));
  return {};
}

// The other way: elements to their places, zeros elsewhere.
Status max_unpool(Call& c) {
  CLEAVE_TRY(const Windows w, windows_of(c, c.list("kernel_shape"), c.shape(0)));
  CLEAVE_TRY(const Ints sizes, c.sizes(0));
  Ints out = {sizes[0], sizes[1]};
  for (size_t d = 0; d < w.dims(); ++d)
    out.push_back((sizes[d + 2] - 1) * w.stride[d] + w.kernel[d] - w.before[d] - w.after[d]);
  Ints asked = out;
  if (c.has(2)) { CLEAVE_TRY(asked, c.ints(2, "output_shape")); }
  if (asked.size() != out.size()) return user_error("output_shape has {} numbers", asked.size());
  // Places count in the result that the windows give; a larger one that is asked for is filled up.
  int64_t count = 1, from = 1;
  for (const int64_t d : out)
    if (d < 0 || __builtin_mul_overflow(count, d, &count))
      return user_error("a result of size {}", d);
  for (const int64_t d : sizes) from *= d;
  const V zeros = c.full({count}, 0, c.dtype(0));
  const V index = c.view(c.in(1), {from});
  const V flat = c.op("scatter", {zeros, index, c.view(c.in(0), {from})}, {{"dim", 0}});
  V y = c.view(flat, Shape(out.begin(), out.end()));
  Ints behind;
  for (size_t d = out.size(); d-- > 0;) {
    behind.push_back(0);
    behind.push_back(asked[d] - out[d]);
  }
  if (asked != out) y = c.op("constant_pad_nd", {y}, {{"pad", behind}});
  c.give(0, y, c.element(0));
  return {};
}

constexpr RuleEntry entries[] = {
    {"MaxPool", max_pool},         {"AveragePool", average_pool},
    {"LpPool", lp_pool},           {"GlobalAveragePool", global_average},
    {"GlobalMaxPool", global_max}, {"GlobalLpPool", global_lp},
    {"MaxUnpool", max_unpool}};

}  // namespace

std::span<const RuleEntry> pool_rules() { return entries; }

}  // namespace cleave::onnx
