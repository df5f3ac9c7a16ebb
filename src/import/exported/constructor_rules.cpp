// Tensors of known values.
#include <algorithm>

#include "import/exported/rules.h"

namespace cleave::exported {
namespace {

using V = ValueId;

V self_of(Call& c) { return c.tensor("self"); }

Values full(Call& c, const AttrValue& value, DType t) {
  return {c.op(
      "full", {},
      {{"size", c.sizes("size")}, {"fill_value", value}, {"dtype", c.dtype("dtype").value_or(t)}})};
}

Values new_full(Call& c, const AttrValue& value) {
  return full(c, value, c.type(self_of(c)).dtype);
}

// The elements on and below the diagonal, or on and above it; all others 0.
Values triangle(Call& c, const char* compare) {
  const V x = self_of(c);
  const Dim rows = c.size(x, -2), columns = c.size(x, -1);
  const V i = c.op("unsqueeze", {c.op("arange", {}, {{"end", rows}})}, {{"dim", 1}});
  const V j = c.op("arange", {}, {{"end", columns}});
  const V apart = c.op("sub", {j, i});
  const V kept = c.op(compare, {apart, CallOperand(AttrValue(c.integer("diagonal", 0)))});
  if (c.type(x).dtype == DType::boolean) return {c.op("logical_and", {x, kept})};
  if (is_floating(c.type(x).dtype)) return {c.op("where", {kept, x, 0.0})};
  return {c.to(c.op("where", {kept, x, 0}), c.type(x).dtype)};
}

Values eye(Call& c) {
  const Shape n = c.sizes("n"), m = c.has("m") ? c.sizes("m") : n;
  if (n.empty() || m.empty()) return {c.fail("eye without a size")};
  const V i = c.op("unsqueeze", {c.op("arange", {}, {{"end", n[0]}})}, {{"dim", 1}});
  const V same = c.op("eq", {i, c.op("arange", {}, {{"end", m[0]}})});
  return {c.to(same, c.dtype("dtype").value_or(DType::f32))};
}

// A number, or a tensor of one element; in the place of integers without its fraction.
V bound(Call& c, const char* name, DType wide, bool is_whole) {
  const V v = c.has_tensor(name)
                  ? c.to(c.tensor(name), wide)
                  : c.op("full", {},
                         {{"size", Shape{}}, {"fill_value", c.floating(name, 0)}, {"dtype", wide}});
  return is_whole ? c.op("trunc", {v}) : v;
}

// Two halves that meet in the middle, as PyTorch counts from both ends.
V evenly_spaced(Call& c, DType wide, bool is_whole) {
  const int64_t steps = c.integer("steps", 0);
  if (steps < 0) return c.fail("{} steps", steps);
  const V start = bound(c, "start", wide, is_whole), end = bound(c, "end", wide, is_whole);
  const auto last = static_cast<double>(std::max<int64_t>(1, steps - 1));
  const auto middle = static_cast<double>(std::max<int64_t>(1, steps / 2));
  const V step = c.op("div", {c.op("sub", {end, start}), last});
  const V k = c.op("arange", {}, {{"end", steps}, {"dtype", wide}});
  const V front = c.op("add", {c.op("mul", {k, step}), start});
  const V back = c.op("sub", {end, c.op("mul", {c.op("rsub", {k, last}), step})});
  return c.op("where", {c.op("lt", {k, middle}), front, back});
}

Values linspace(Call& c) {
  const DType t = c.dtype("dtype").value_or(DType::f32);
  const bool is_whole = !is_floating(t);
  return {
      c.to(evenly_spaced(c, is_whole || t == DType::f64 ? DType::f64 : DType::f32, is_whole), t)};
}

Values logspace(Call& c) {
  const DType t = c.dtype("dtype").value_or(DType::f32);
  if (!is_floating(t)) return {c.fail("logspace of integers")};
  const V power = evenly_spaced(c, DType::f64, false);
  return {c.to(c.op("pow", {c.floating("base", 10), power}), t)};
}

}  // namespace

std::span<const RuleRow> constructor_rules() {
  static constexpr RuleRow rows[] = {
      {"new_zeros", [](Call& c) { return new_full(c, 0); }},
      {"new_ones", [](Call& c) { return new_full(c, 1); }},
      {"new_full", [](Call& c) { return new_full(c, c.value("fill_value")); }},
      {"new_empty_strided", [](Call& c) { return new_full(c, 0); }},
      {"new_empty", [](Call& c) { return new_full(c, 0); }},
      {"zero", [](Call& c) -> Values { return {c.op("zeros_like", {self_of(c)})}; }},
      {"tril", [](Call& c) { return triangle(c, "le"); }},
      {"triu", [](Call& c) { return triangle(c, "ge"); }},
      {"eye", eye},
      {"linspace", linspace},
      {"logspace", logspace},
  };
  return rows;
}

}  // namespace cleave::exported
