// Copies of complex tensors, joins, and tensors of known values.
#include "import/exported/complex_rules.h"

namespace cleave::exported {
namespace {

using V = ValueId;
using Kind = Argument::Kind;

// The dtype of a result that is real; nothing of a complex one.
std::optional<DType> real_dtype(Call& c) {
  const TensorMeta* m = result_meta(c);
  return m && !m->is_complex ? std::optional(m->dtype) : std::nullopt;
}

V real_part(Call& c, V parts) { return c.op("select", {parts}, {{"dim", -1}, {"index", 0}}); }

// Of a complex tensor the parts or, as a real dtype, the real ones; of a real one the parts.
Values converted(Call& c) {
  const auto t = real_dtype(c);
  if (!t) return {parts_of(c, "self")};
  const V x = c.tensor("self");
  return {c.to(c.is_complex("self") ? real_part(c, x) : x, *t)};
}

Values copied_to(Call& c) {
  const Values y = converted(c);
  return {y[0] == c.tensor("self") ? c.op("clone", {y[0]}) : y[0]};
}

Values conjugate_transposed(Call& c) {
  const V x = c.tensor("self");
  if (c.rank(x) < 3) return {c.fail("a transposed tensor of rank {}", c.rank(x) - 1)};
  const V y = c.op("transpose", {x}, {{"dim0", -3}, {"dim1", -2}});
  c.share_arguments();
  return {joined(c, conjugate(c, split(c, y)))};
}

// self, with the elements of src.
Values copied(Call& c) {
  const char* src = c.find("src") ? "src" : "other";
  const V self = c.tensor("self");
  const Argument* a = c.find(src);
  if (!a || !c.ok()) return {c.fail("the argument {} is missing", src)};
  V x = c.is_complex("self") ? parts_of(c, *a) : real_part(c, c.tensor(*a));
  x = c.to(x, c.type(self).dtype);
  if (!(c.type(x).shape == c.type(self).shape))
    x = c.op("expand", {x}, {{"size", c.type(self).shape}});
  return {x == self ? c.op("clone", {x}) : x};
}

// Tensors along a dim that is counted from the front of the parts, too.
Values joined_along(Call& c, const char* op, int64_t more) {
  const Argument* list = c.find("tensors");
  if (!list || list->kind != Kind::list || list->items.empty())
    return {c.fail("the argument tensors is no list of tensors")};
  Values parts;
  for (const Argument& a : list->items) parts.push_back(parts_of(c, a));
  int64_t rank = 0;
  for (const V x : parts) rank = std::max(rank, c.rank(x) - 1);
  const int64_t dim = c.wrapped(c.integer("dim", 0), rank + more);
  return {c.op(op, {CallOperand(parts)}, {{"dim", dim}})};
}

// A tensor of a size, each element the number.
Values filled(Call& c, Shape size, const std::optional<std::complex<double>>& number) {
  if (!number) return {c.fail("a complex tensor of a number that isn't known")};
  const DType t = parts_dtype(c);
  if (number->imag() == number->real()) {
    size.emplace_back(2);
    return {c.op("full", {}, {{"size", size}, {"fill_value", number->real()}, {"dtype", t}})};
  }
  const auto part = [&](double x) {
    return c.op("full", {}, {{"size", size}, {"fill_value", x}, {"dtype", t}});
  };
  return {joined(c, {part(number->real()), part(number->imag())})};
}

Shape whole_shape(Call& c) {
  const char* name = c.find("self") ? "self" : "input";
  Shape s = c.type(c.tensor(name)).shape;
  if (c.is_complex(name) && !s.empty()) s.pop_back();
  return s;
}

// The result may be real: zeros_like(z, dtype=float32).
Values like(Call& c, const std::optional<std::complex<double>>& number) {
  const auto t = real_dtype(c);
  if (!t) return filled(c, whole_shape(c), number);
  if (!number) return {c.fail("a tensor of a number that isn't known")};
  const V y =
      c.op("full", {}, {{"size", whole_shape(c)}, {"fill_value", number->real()}, {"dtype", *t}});
  return {y};
}

Values sized(Call& c, const std::optional<std::complex<double>>& number) {
  const auto t = real_dtype(c);
  if (!t) return filled(c, c.sizes("size"), number);
  if (!number) return {c.fail("a tensor of a number that isn't known")};
  return {
      c.op("full", {}, {{"size", c.sizes("size")}, {"fill_value", number->real()}, {"dtype", *t}})};
}

Values fill(Call& c) {
  if (c.has_tensor("value")) {
    Shape size = c.type(c.tensor("self")).shape;
    return {c.op("clone", {c.op("expand", {parts_of(c, "value")}, {{"size", size}})})};
  }
  return filled(c, whole_shape(c), number_of(c, "value"));
}

}  // namespace

std::span<const RuleRow> complex_shape_rules() {
  static constexpr RuleRow rows[] = {
      {"_to_copy", copied_to},
      {"to", converted},
      {"mH", conjugate_transposed},
      {"matrix_H", conjugate_transposed},
      {"adjoint", conjugate_transposed},
      {"type_as", converted},
      {"clone", [](Call& c) -> Values { return {c.op("clone", {c.tensor("self")})}; }},
      {"lift_fresh_copy", [](Call& c) -> Values { return {c.op("clone", {c.tensor("self")})}; }},
      {"copy", copied},
      {"cat", [](Call& c) { return joined_along(c, "cat", 0); }},
      {"concat", [](Call& c) { return joined_along(c, "cat", 0); }},
      {"concatenate", [](Call& c) { return joined_along(c, "cat", 0); }},
      {"stack", [](Call& c) { return joined_along(c, "stack", 1); }},
      {"full", [](Call& c) { return sized(c, number_of(c, "fill_value")); }},
      {"zeros", [](Call& c) { return sized(c, 0); }},
      {"ones", [](Call& c) { return sized(c, 1); }},
      {"empty", [](Call& c) { return sized(c, 0); }},
      {"new_full", [](Call& c) { return sized(c, number_of(c, "fill_value")); }},
      {"new_zeros", [](Call& c) { return sized(c, 0); }},
      {"new_ones", [](Call& c) { return sized(c, 1); }},
      {"new_empty", [](Call& c) { return sized(c, 0); }},
      {"full_like", [](Call& c) { return like(c, number_of(c, "fill_value")); }},
      {"zeros_like", [](Call& c) { return like(c, 0); }},
      {"ones_like", [](Call& c) { return like(c, 1); }},
      {"empty_like", [](Call& c) { return like(c, 0); }},
      {"zero", [](Call& c) { return like(c, 0); }},
      {"scalar_tensor", [](Call& c) { return filled(c, {}, number_of(c, "s")); }},
      {"fill", fill},
  };
  return rows;
}

}  // namespace cleave::exported
