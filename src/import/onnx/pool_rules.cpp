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

// Windows over an operand of these spatial sizes.
struct Covered {
  Windows windows;  // their borders hold all of them, so that each has as many elements
  Ints sizes, results;
  int64_t offsets = 1;  // of a kernel
};

Result<Covered> covered(const Windows& asked, const Shape& operand) {
  CLEAVE_TRY(const Ints sizes, spatial_sizes(operand));
  Covered out{asked, sizes, {}};
  Windows& w = out.windows;
  for (size_t d = 0; d < w.dims(); ++d) {
    const int64_t n = asked.results(d, sizes[d]);
    const int64_t reach = (n - 1) * w.stride[d] + w.extent(d);
    out.results.push_back(n);
    w.after[d] = std::max(w.after[d], reach - sizes[d] - w.before[d]);
    out.offsets *= std::min(w.kernel[d], most_offsets + 1);
    if (out.offsets > most_offsets)
      return unsupported("windows of more than {} elements", most_offsets);
  }
  return out;
}

// Of each window of x, which has its borders, the element at an offset of the kernel.
V element_at(Call& c, V x, const Covered& over, int64_t offset) {
  const Windows& w = over.windows;
  for (size_t d = w.dims(); d-- > 0;) {
    const int64_t at = offset % w.kernel[d] * w.dilation[d];
    offset /= w.kernel[d];
    const int64_t reach = (over.results[d] - 1) * w.stride[d] + 1;  // below 1 for no results
    x = c.slice(x, static_cast<int64_t>(d) + 2, at, at + std::max(int64_t{0}, reach), w.stride[d]);
  }
  return x;
}

// f over the elements of each window of x, which has its borders.
using Fold = V (*)(Call&, V, V);
V folded(Call& c, V x, const Covered& over, Fold f) {
  V all = element_at(c, x, over, 0);
  for (int64_t offset = 1; offset < over.offsets && c.status().ok(); ++offset)
    all = f(c, all, element_at(c, x, over, offset));
  return all;
}

V larger(Call& c, V a, V b) { return c.op("maximum", {a, b}); }
V plus(Call& c, V a, V b) { return c.add(a, b); }

// Of each window the largest element, and its place in the operand.
V places_of_largest(Call& c, const Covered& over, V padded) {
  // The elements' own numbers, -1 in the borders; in column-major order where that is asked for.
  // Each plane counts on.
  const Shape s = c.shape(0);
  const bool columns = c.integer("storage_order") != 0;
  V number = c.full(Shape(s.size(), Dim(1)), 0, DType::i64);
  Dim step = 1;
  for (size_t k = s.size(); k-- > 0;) {
    const size_t d = columns && k >= 2 ? s.size() + 1 - k : k;
    Shape line(s.size(), Dim(1));
    line[d] = s[d];
    const V at = c.view(c.op("arange", {}, {{"end", s[d]}}), line);
    number = c.add(number, c.mul(at, AttrValue(step)));
    step = step * s[d];
  }
  number = with_borders(c, c.expand(number, s), over.windows, int64_t{-1});
  V best = element_at(c, padded, over, 0), where = element_at(c, number, over, 0);
  for (int64_t offset = 1; offset < over.offsets && c.status().ok(); ++offset) {
    const V x = element_at(c, padded, over, offset), place = element_at(c, number, over, offset);
    const V more = c.op("logical_or", {c.op("gt", {x, best}), c.op("lt", {where, 0})});
    best = c.where(more, x, best);
    where = c.where(more, place, where);
  }
  return where;
}

Status max_pool(Call& c) {
  CLEAVE_TRY(const Windows w, windows_of(c, c.list("kernel_shape"), c.shape(0)));
  const V x = c.in(0);
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
  CLEAVE_TRY(const Covered over, covered(w, c.shape(0)));
  const V padded = with_borders(c, x, over.windows, nearest_in(c.element(0), -infinity));
  c.give(0, folded(c, padded, over, larger), c.element(0));
  if (c.wants(1)) c.give(1, places_of_largest(c, over, padded));
  return {};
}

// Sums over windows by the number of elements in each: all of them, or those of the operand.
Status average_pool(Call& c) {
  CLEAVE_TRY(const Windows w, windows_of(c, c.list("kernel_shape"), c.shape(0)));
  const bool with_pads = c.integer("count_include_pad") != 0;
  bool plain = w.symmetric() && w.dims() <= 3 && !w.ceil;
  for (size_t d = 0; d < w.dims(); ++d)
    plain = plain && w.dilation[d] == 1 && 2 * w.before[d] <= w.kernel[d];
  const V x = c.in(0);
  if (plain) {
    const V y = c.op(fmt::format("avg_pool{}d", w.dims()), {x},
                     {{"kernel_size", w.kernel},
                      {"stride", w.stride},
                      {"padding", w.before},
                      {"count_include_pad", with_pads}});
    c.give(0, y, c.element(0));
    return {};
  }
  CLEAVE_TRY(const Covered over, covered(w, c.shape(0)));
  // Elements that count, as numbers: those of the operand, and of the pads that were asked for.
  Shape plane = {1, 1};
  plane.insert(plane.end(), over.sizes.begin(), over.sizes.end());
  V one = c.full(plane, 1, c.dtype(0));
  Windows borders = over.windows;
  if (with_pads) {
    one = with_borders(c, one, w, 1.0);
    for (size_t d = 0; d < w.dims(); ++d) {
      borders.before[d] = 0;
      borders.after[d] -= w.after[d];
    }
  }
  one = with_borders(c, one, borders, 0.0);
  const V sum = folded(c, with_borders(c, x, over.windows, 0.0), over, plus);
  c.give(0, c.div(sum, folded(c, one, over, plus)), c.element(0));
  return {};
}

Status lp_pool(Call& c) {
  CLEAVE_TRY(const Windows w, windows_of(c, c.list("kernel_shape"), c.shape(0)));
  const double p = static_cast<double>(c.integer("p", 2));
  CLEAVE_TRY(const Covered over, covered(w, c.shape(0)));
  const V powers = c.op("pow", {c.op("abs", {c.in(0)}), p});
  const V sum = folded(c, with_borders(c, powers, over.windows, 0.0), over, plus);
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
