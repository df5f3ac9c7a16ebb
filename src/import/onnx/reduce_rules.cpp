// Sums, products, extremes along axes; the same up to each place; order.
#include <algorithm>
#include <limits>

#include "import/onnx/rules.h"

namespace cleave::onnx {
namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();

struct Axes {
  Ints axes;
  bool keep = true;
  bool empty = false;  // a dim of size 0 is reduced
};

// Axes are an attribute before opset `moved`, then operand 1.
Result<Axes> axes_of(Call& c, int64_t moved) {
  Axes out;
  bool given = false;
  CLEAVE_TRY(Ints axes, c.axes_of(1, moved, given));
  const int64_t rank = c.rank(0);
  CLEAVE_TRY(out.axes, c.axes(std::move(axes), rank));
  std::ranges::sort(out.axes);
  out.axes.erase(std::ranges::unique(out.axes).begin(), out.axes.end());
  out.keep = c.integer("keepdims", 1) != 0;
  if (out.axes.empty() && c.integer("noop_with_empty_axes") == 0) out.axes = all_axes(rank);
  const Shape s = c.shape(0);
  for (const int64_t a : out.axes) out.empty = out.empty || s[static_cast<size_t>(a)] == Dim(0);
  return out;
}

Shape reduced_shape(const Shape& s, const Axes& axes) {
  Shape out;
  for (size_t d = 0; d < s.size(); ++d) {
    const bool reduced = std::ranges::find(axes.axes, static_cast<int64_t>(d)) != axes.axes.end();
    if (!reduced) out.push_back(s[d]);
    if (reduced && axes.keep) out.emplace_back(1);
  }
  return out;
}

// Without axes no sum, product or extreme is taken; what is done to each element stays.
using Reduce = V (*)(Call&, V, const Axes&);

Status reduced(Call& c, Reduce f, double of_nothing, int64_t moved = 18) {
  CLEAVE_TRY(const Axes axes, axes_of(c, moved));
  const Element e = c.element(0);
  const V y = axes.empty ? c.op("full", {},
                                {{"size", reduced_shape(c.shape(0), axes)},
                                 {"fill_value", nearest_in(e, of_nothing)},
                                 {"dtype", c.dtype(0)}})
                         : f(c, c.in(0), axes);
  c.give(0, narrowed(c, c.convert(y, c.dtype(0)), e), e);
  return {};
}

V sum_of(Call& c, V x, const Axes& a) { return c.sum(x, a.axes, a.keep); }
V mean_of(Call& c, V x, const Axes& a) {
  if (is_floating(c.type(x).dtype)) return c.mean(x, a.axes, a.keep);
  return c.mean(c.convert(x, DType::f64), a.axes, a.keep);
}
V product_along(Call& c, V x, const Axes& a) {
  for (size_t k = a.axes.size(); k-- > 0;)
    x = c.op("prod", {x}, {{"dim", a.axes[k]}, {"keepdim", a.keep}});
  return x;
}
// u64 in the order of i64, and back: the highest bit is turned over.
V turned(Call& c, V x) {
  return c.element(0) == Element::u64 ? c.op("bitwise_xor", {x, AttrValue(INT64_MIN)}) : x;
}
V extreme(Call& c, V x, const Axes& a, const char* op) {
  if (a.axes.empty()) return x;
  return turned(c, c.op(op, {turned(c, x)}, {{"dim", a.axes}, {"keepdim", a.keep}}));
}
V largest(Call& c, V x, const Axes& a) {
  return extreme(c, x, a, c.type(x).dtype == DType::boolean ? "any" : "amax");
}
V smallest(Call& c, V x, const Axes& a) {
  return extreme(c, x, a, c.type(x).dtype == DType::boolean ? "all" : "amin");
}
V square_sum(Call& c, V x, const Axes& a) { return sum_of(c, c.mul(x, x), a); }

Status reduce_sum(Call& c) { return reduced(c, sum_of, 0, 13); }
Status reduce_mean(Call& c) {
  return reduced(c, mean_of, std::numeric_limits<double>::quiet_NaN());
}
Status reduce_prod(Call& c) { return reduced(c, product_along, 1); }
Status reduce_max(Call& c) { return reduced(c, largest, -infinity); }
Status reduce_min(Call& c) { return reduced(c, smallest, infinity); }
Status reduce_sum_square(Call& c) { return reduced(c, square_sum, 0); }
Status reduce_l1(Call& c) {
  return reduced(c, [](Call& k, V x, const Axes& a) { return sum_of(k, k.op("abs", {x}), a); }, 0);
}
Status reduce_l2(Call& c) {
  return reduced(
      c,
      [](Call& k, V x, const Axes& a) {
        const bool floats = is_floating(k.type(x).dtype);
        return k.op("sqrt", {square_sum(k, floats ? x : k.convert(x, DType::f64), a)});
      },
      0);
}
Status reduce_log_sum(Call& c) {
  return reduced(
      c, [](Call& k, V x, const Axes& a) { return k.op("log", {sum_of(k, x, a)}); }, -infinity);
}
Status reduce_log_sum_exp(Call& c) {
  return reduced(
      c,
      [](Call& k, V x, const Axes& a) {
        if (a.axes.empty()) return x;
        return k.op("logsumexp", {x}, {{"dim", a.axes}, {"keepdim", a.keep}});
      },
      -infinity);
}

// The first place of the extreme, or the last one.
Status arg_extreme(Call& c, const char* op) {
  const int64_t rank = c.rank(0);
  if (rank == 0) return user_error("the operand has no dims");
  CLEAVE_TRY(const int64_t axis, c.axis(c.integer("axis"), rank));
  const bool keep = c.integer("keepdims", 1) != 0, last = c.integer("select_last_index") != 0;
  V x = turned(c, c.in(0));
  if (last) x = c.op("flip", {x}, {{"dims", Ints{axis}}});
  V at = c.op(op, {x}, {{"dim", axis}, {"keepdim", keep}});
  if (last) {
    const Dim n = c.shape(0)[static_cast<size_t>(axis)];
    at = c.op("sub", {AttrValue(n - Dim(1)), at});
  }
  c.give(0, at);
  return {};
}
Status arg_max(Call& c) { return arg_extreme(c, "argmax"); }
Status arg_min(Call& c) { return arg_extreme(c, "argmin"); }

// exclusive: what stands before the place; reverse: from the end on.
Status cumulative(Call& c, const char* op, double start) {
  CLEAVE_TRY(const Ints at, c.ints(1, "axis"));
  if (at.size() != 1) return user_error("axis has {} numbers, expected 1", at.size());
  CLEAVE_TRY(const int64_t axis, c.axis(at[0], c.rank(0)));
  const Dim n = c.shape(0)[static_cast<size_t>(axis)];
  V x = c.in(0);
  const bool reverse = c.integer("reverse") != 0;
  if (reverse) x = c.op("flip", {x}, {{"dims", Ints{axis}}});
  if (c.integer("exclusive") != 0 && !(n == Dim(0))) {
    Shape edge = c.shape(0);
    edge[static_cast<size_t>(axis)] = 1;
    x = c.cat({c.full(edge, start, c.dtype(0)), c.slice(x, axis, 0, n - Dim(1))}, axis);
  }
  x = c.op(op, {x}, {{"dim", axis}, {"dtype", c.dtype(0)}});
  if (reverse) x = c.op("flip", {x}, {{"dims", Ints{axis}}});
  c.give(0, x, c.element(0));
  return {};
}
Status cum_sum(Call& c) { return cumulative(c, "cumsum", 0); }
Status cum_prod(Call& c) { return cumulative(c, "cumprod", 1); }

// Equal elements by their place.
Status top_k(Call& c) {
  const int64_t rank = c.rank(0);
  if (rank == 0) return user_error("the operand has no dims");
  CLEAVE_TRY(const int64_t axis, c.axis(c.integer("axis", -1), rank));
  int64_t k = c.integer("k");
  if (c.version() >= 10) {
    CLEAVE_TRY(const Ints given, c.ints(1, "k"));
    if (given.size() != 1) return user_error("k has {} numbers, expected 1", given.size());
    k = given[0];
  }
  const Dim n = c.shape(0)[static_cast<size_t>(axis)];
  if (k < 0 || (n.is_const() && k > n.value()))
    return user_error("k is {}, of {} elements", k, n.text());
  const V x = c.in(0), key = turned(c, x);
  const Values sorted =
      c.ops("sort", {key},
            {{"dim", axis}, {"descending", c.integer("largest", 1) != 0}, {"stable", true}});
  if (sorted.size() < 2) return {};
  const V index = c.slice(sorted[1], axis, 0, k);
  c.give(0, key == x ? c.slice(sorted[0], axis, 0, k) : c.op("gather", {x, index}, {{"dim", axis}}),
         c.element(0));
  c.give(1, index);
  return {};
}

constexpr RuleEntry entries[] = {{"ReduceSum", reduce_sum},
                                 {"ReduceMean", reduce_mean},
                                 {"ReduceProd", reduce_prod},
                                 {"ReduceMax", reduce_max},
                                 {"ReduceMin", reduce_min},
                                 {"ReduceSumSquare", reduce_sum_square},
                                 {"ReduceL1", reduce_l1},
                                 {"ReduceL2", reduce_l2},
                                 {"ReduceLogSum", reduce_log_sum},
                                 {"ReduceLogSumExp", reduce_log_sum_exp},
                                 {"ArgMax", arg_max},
                                 {"ArgMin", arg_min},
                                 {"CumSum", cum_sum},
                                 {"CumProd", cum_prod},
                                 {"TopK", top_k}};

}  // namespace

std::span<const RuleEntry> reduce_rules() { return entries; }

}  // namespace cleave::onnx
