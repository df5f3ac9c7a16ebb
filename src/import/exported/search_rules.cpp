// Where values stand among others, by comparing each with each; and writes to places counted
// through.
#include "import/exported/rules.h"

namespace cleave::exported {
namespace {

using V = ValueId;
using Dims = std::vector<int64_t>;

V self_of(Call& c) { return c.tensor("self"); }

V unsqueeze(Call& c, V x, int64_t dim) { return c.op("unsqueeze", {x}, {{"dim", dim}}); }

V scalar(Call& c, const char* name) {
  if (c.has_tensor(name)) return c.tensor(name);
  const AttrValue v = c.value(name);
  const DType t = v.get<double>() ? DType::f32 : v.get<bool>() ? DType::boolean : DType::i64;
  return c.op("full", {}, {{"size", Shape{}}, {"fill_value", v}, {"dtype", t}});
}

// How many of the last dim of `bounds` lie before each x: below it, or at it too. NaN lies last.
V places(Call& c, V bounds, V x, bool right) {
  const V after = c.op(right ? "gt" : "ge", {bounds, x});
  const V y = c.op("sum", {c.op("logical_not", {after})}, {{"dim", Dims{-1}}});
  return c.flag("out_int32", false) ? c.to(y, DType::i32) : y;
}

Values bucketize(Call& c) {
  const V x = scalar(c, "self");
  return {places(c, c.tensor("boundaries"), unsqueeze(c, x, -1), c.flag("right", false))};
}

Values searchsorted(Call& c) {
  V bounds = c.tensor("sorted_sequence");
  const V x = scalar(c, "self"), sorter = c.maybe_tensor("sorter");
  if (sorter.valid()) bounds = c.op("gather", {bounds, sorter}, {{"dim", -1}});
  if (c.rank(bounds) > 1) bounds = unsqueeze(c, bounds, -2);
  const bool right = c.flag("right", false) || (c.has("side") && c.text("side", "") == "right");
  return {places(c, bounds, unsqueeze(c, x, -1), right)};
}

Values isin(Call& c) {
  const V x = scalar(c, c.find("elements") ? "elements" : "element");
  V among = scalar(c, c.find("test_elements") ? "test_elements" : "test_element");
  among = c.view(among, {c.type(among).numel()});
  const V y = c.op("any", {c.op("eq", {unsqueeze(c, x, -1), among})}, {{"dim", Dims{-1}}});
  return {c.flag("invert", false) ? c.op("logical_not", {y}) : y};
}

// self with its elements counted through.
Values put(Call& c) {
  const V x = self_of(c);
  const Shape shape = c.type(x).shape;
  V y = c.view(x, {c.type(x).numel()});
  const V index = c.tensor("index"), source = c.tensor("source");
  y = c.op("index_put", {y, CallOperand(Values{index}), c.view(source, c.type(index).shape)},
           {{"accumulate", c.flag("accumulate", false)}});
  return {c.view(y, shape)};
}

// Rows of source meet those of self that index names.
Values index_reduce(Call& c) {
  const V x = self_of(c), source = c.tensor("source");
  const int64_t dim = c.wrapped(c.integer("dim", 0), c.rank(x));
  if (c.rank(source) != c.rank(x)) return {c.fail("index_reduce of two ranks")};
  Shape alone(static_cast<size_t>(c.rank(source)), Dim(1));
  V index = c.tensor("index");
  if (!alone.empty()) alone[static_cast<size_t>(dim)] = c.type(index).numel();
  index =
      c.op("expand", {c.view(c.to(index, DType::i64), alone)}, {{"size", c.type(source).shape}});
  const std::string how = c.text("reduce", "");
  return {c.op("scatter_reduce", {x, index, source},
               {{"dim", dim}, {"reduce", how}, {"include_self", c.flag("include_self", true)}})};
}

}  // namespace

std::span<const RuleRow> search_rules() {
  static constexpr RuleRow rows[] = {
      {"bucketize", bucketize},       {"searchsorted", searchsorted}, {"isin", isin}, {"put", put},
      {"index_reduce", index_reduce},
  };
  return rows;
}

}  // namespace cleave::exported
