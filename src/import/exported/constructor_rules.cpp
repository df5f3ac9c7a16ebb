// Tensors of known values.
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

// Two halves that meet in the middle, as PyTorch counts from both ends.
Values linspace(Call& c) {
  const double start = c.floating("start", 0), end = c.floating("end", 0);
  const int64_t steps = c.integer("steps", 0);
  const DType t = c.dtype("dtype").value_or(DType::f32);
  if (steps < 1 || !is_floating(t)) return {c.fail("linspace of {} steps", steps)};
  const int64_t middle = steps == 1 ? 1 : steps / 2;
  const double step = steps > 1 ? (end - start) / static_cast<double>(steps - 1) : 0;
  const V k = c.op("arange", {}, {{"end", steps}, {"dtype", t}});
  const V front = c.op("add", {c.op("mul", {k, step}), start});
  const V back =
      c.op("add", {c.op("mul", {c.op("rsub", {k, static_cast<double>(steps - 1)}), -step}), end});
  return {c.op("where", {c.op("lt", {k, static_cast<double>(middle)}), front, back})};
}

}  // namespace

std::span<const RuleRow> constructor_rules() {
  static constexpr RuleRow rows[] = {
      {"new_zeros", [](Call& c) { return new_full(c, 0); }},
      {"new_ones", [](Call& c) { return new_full(c, 1); }},
      {"new_full", [](Call& c) { return new_full(c, c.value("fill_value")); }},
      {"new_empty", [](Call& c) { return new_full(c, 0); }},
      {"zero", [](Call& c) -> Values { return {c.op("zeros_like", {self_of(c)})}; }},
      {"tril", [](Call& c) { return triangle(c, "le"); }},
      {"triu", [](Call& c) { return triangle(c, "ge"); }},
      {"eye", eye},
      {"linspace", linspace},
  };
  return rows;
}

}  // namespace cleave::exported
