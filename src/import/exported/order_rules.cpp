// What sorting gives: medians and quantiles.
#include <cmath>

#include "import/exported/rules.h"

namespace cleave::exported {
namespace {

using V = ValueId;
using Dims = std::vector<int64_t>;

constexpr int64_t most_quantiles = 1 << 12;

V self_of(Call& c) { return c.tensor("self"); }

V slice(Call& c, V x, int64_t dim, int64_t start, int64_t end) {
  return c.op("slice", {x}, {{"dim", dim}, {"start", start}, {"end", end}});
}

V is_nan(Call& c, V x) { return c.op("isnan", {x}); }

// Element k of each line of a sorted tensor, and where it came from.
Values chosen(Call& c, const Values& sorted, int64_t dim, int64_t k, bool keepdim) {
  Values out;
  for (const V v : sorted)
    out.push_back(keepdim ? slice(c, v, dim, k, k + 1)
                          : c.op("select", {v}, {{"dim", dim}, {"index", k}}));
  return out;
}

Values sorted(Call& c, const Line& line) {
  return c.ops("sort", {line.x}, {{"dim", line.dim}, {"stable", true}});
}

Values kthvalue(Call& c) {
  const Line line = line_of(c);
  const int64_t k = c.integer("k", 1);
  return without_line(c, chosen(c, sorted(c, line), line.dim, k - 1, c.flag("keepdim", false)),
                      line);
}

// The lower one of the two in the middle; NaN where there is one, of nanmedian where all are.
Values median(Call& c, bool skips_nan) {
  Line line = line_of(c);
  const bool whole = !c.has("dim");
  if (whole) line = {c.view(line.x, {c.type(line.x).numel()}), 0, false};
  const int64_t n = c.static_size(line.x, line.dim);
  if (n == 0) return {c.fail("a median of no elements")};
  const Values both = sorted(c, line);
  const bool keepdim = !whole && c.flag("keepdim", false);
  Values ys;
  if (!is_floating(c.type(line.x).dtype)) {
    ys = chosen(c, both, line.dim, (n - 1) / 2, keepdim);
  } else {
    const NamedAttrs over{{"dim", Dims{line.dim}}, {"keepdim", true}};
    const CallOperand count{AttrValue(n)};
    const V nan = c.to(is_nan(c, line.x), DType::i64);
    const V numbers = c.op("rsub", {c.op("sum", {nan}, over), count});
    V at = c.op("div", {c.op("clamp", {c.op("sub", {numbers, 1}), 0}), 2},
                {{"rounding_mode", "floor"}});
    if (!skips_nan) at = c.op("where", {c.op("lt", {numbers, count}), numbers, at});
    for (const V v : both) {
      V y = c.op("gather", {v, at}, {{"dim", line.dim}});
      if (!keepdim) y = c.op("squeeze", {y}, {{"dim", Dims{line.dim}}});
      ys.push_back(y);
    }
  }
  if (whole) ys.resize(1);
  return without_line(c, ys, line);
}

// Element q (n - 1) of each sorted line, between its neighbours; of nanquantile n counts numbers.
Values quantile(Call& c, bool skips_nan) {
  V x = self_of(c);
  const bool whole = !c.has("dim"), keepdim = c.flag("keepdim", false);
  const Shape shape = c.type(x).shape;
  const int64_t rank = c.rank(x), dim = whole ? 0 : c.wrapped(c.integer("dim", 0), rank);
  x = whole || rank == 0 ? c.view(x, {c.type(x).numel()})
                         : c.op("transpose", {x}, {{"dim0", dim}, {"dim1", -1}});
  const int64_t n = c.static_size(x, -1);
  const Values both = c.ops("sort", {x}, {{"dim", -1}, {"stable", true}});
  if (!c.ok()) return {};
  const DType t = c.type(x).dtype;
  const bool many = c.has_tensor("q") && c.rank(c.tensor("q")) == 1;
  V q = c.has_tensor("q")
            ? c.tensor("q")
            : c.op("full", {}, {{"size", Shape{}}, {"fill_value", c.value("q")}, {"dtype", t}});
  q = c.view(c.to(q, t), {c.type(q).numel()});
  const NamedAttrs over{{"dim", Dims{-1}}, {"keepdim", true}};
  const V nan = c.op("sum", {c.to(is_nan(c, x), t)}, over);
  const V last = c.op("clamp", {c.op("rsub", {nan, static_cast<double>(n - 1)}), 0.0});
  const V whole_last = c.op("full_like", {last}, {{"fill_value", static_cast<double>(n - 1)}});
  V at = c.op("mul", {q, skips_nan ? last : whole_last});
  if (!skips_nan) at = c.op("where", {c.op("gt", {nan, 0.0}), whole_last, at});
  const std::string how = c.text("interpolation", "linear");
  if (how == "lower") at = c.op("floor", {at});
  if (how == "higher") at = c.op("ceil", {at});
  if (how == "nearest") at = c.op("round", {at});
  const V below = c.op("floor", {at});
  const auto read = [&](V place) {
    return c.op("gather", {both[0], c.to(place, DType::i64)}, {{"dim", -1}});
  };
  V y = read(below);
  if (how == "linear" || how == "midpoint") {
    const V above = read(c.op("ceil", {at}));
    const V weight =
        how == "linear" ? c.op("sub", {at, below}) : c.op("full_like", {at}, {{"fill_value", 0.5}});
    y = c.op("add", {y, c.op("mul", {c.op("sub", {above, y}), weight})});
  }
  if (c.static_size(q, 0) > most_quantiles) return {c.fail("{} quantiles", c.static_size(q, 0))};
  // [.., q] to [q, ..]: the dim that was sorted, last, goes home as one of size 1
  Values parts;
  Shape one = shape;
  if (whole) one.assign(keepdim ? static_cast<size_t>(rank) : 0, Dim(1));
  for (int64_t k = 0; c.ok() && k < c.static_size(q, 0); ++k) {
    V part = slice(c, y, -1, k, k + 1);
    if (whole || rank == 0) {
      part = c.view(part, one);
    } else {
      part = c.op("transpose", {part}, {{"dim0", dim}, {"dim1", -1}});
      if (!keepdim) part = c.op("squeeze", {part}, {{"dim", Dims{dim}}});
    }
    parts.push_back(many ? c.op("unsqueeze", {part}, {{"dim", 0}}) : part);
  }
  if (parts.empty()) return {c.fail("no quantiles")};
  return {parts.size() == 1 ? parts[0] : c.op("cat", {CallOperand(parts)}, {{"dim", 0}})};
}

}  // namespace

Line line_of(Call& c) {
  const V x = c.tensor("self");
  if (c.rank(x) > 0) return {x, c.wrapped(c.integer("dim", -1), c.rank(x)), false};
  return {c.view(x, {Dim(1)}), 0, true};
}

Values without_line(Call& c, Values ys, const Line& line) {
  for (V& y : ys)
    if (line.is_scalar) y = c.view(y, {});
  return ys;
}

std::span<const RuleRow> order_rules() {
  static constexpr RuleRow rows[] = {
      {"kthvalue", kthvalue},
      {"median", [](Call& c) { return median(c, false); }},
      {"nanmedian", [](Call& c) { return median(c, true); }},
      {"quantile", [](Call& c) { return quantile(c, false); }},
      {"nanquantile", [](Call& c) { return quantile(c, true); }},
  };
  return rows;
}

}  // namespace cleave::exported
