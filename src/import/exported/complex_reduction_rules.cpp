// Sums, means, products and norms of complex tensors.
#include <cmath>

#include "import/exported/complex_rules.h"

namespace cleave::exported {
namespace {

using V = ValueId;
using Ints = std::vector<int64_t>;

// Of a complex self, counted from the front; all where there are none.
Ints dims_of(Call& c, V parts) {
  const int64_t rank = c.rank(parts) - 1;
  Ints dims;
  if (c.has("dim"))
    for (const int64_t d : c.integers("dim"))
      if (rank > 0) dims.push_back(c.wrapped(d, rank));
  if (dims.empty())
    for (int64_t d = 0; d < rank; ++d) dims.push_back(d);
  return dims;
}

// Of no dims there is nothing to reduce: [] would be all.
Values reduced(Call& c, const char* op) {
  const V x = parts_of(c, "self");
  const Ints dims = dims_of(c, x);
  if (dims.empty()) return {c.op("clone", {x})};
  return {c.op(op, {x}, {{"dim", dims}, {"keepdim", c.flag("keepdim", false)}})};
}

V slice(Call& c, V x, int64_t dim, int64_t start, int64_t end) {
  return c.op("slice", {x}, {{"dim", dim}, {"start", start}, {"end", end}});
}

// Halves of the dim are multiplied until one element is left.
Values product(Call& c) {
  V x = parts_of(c, "self");
  const int64_t rank = c.rank(x) - 1;
  if (!c.ok()) return {};
  int64_t dim = 0;
  if (c.has("dim")) {
    dim = c.wrapped(c.integer("dim", 0), rank);
    if (rank == 0) return {c.op("clone", {x})};
  } else {
    x = c.view(x, {Dim::floordiv(c.type(x).numel(), Dim(2)), Dim(2)});
  }
  int64_t n = c.static_size(x, dim);
  if (n == 0) return {c.fail("a product of no complex numbers")};
  for (; c.ok() && n > 1; n = n / 2 + n % 2) {
    const Complex y =
        mul(c, split(c, slice(c, x, dim, 0, n / 2)), split(c, slice(c, x, dim, n / 2, n / 2 * 2)));
    V halved = joined(c, y);
    if (n % 2 != 0)
      halved =
          c.op("cat", {CallOperand(Values{halved, slice(c, x, dim, n - 1, n)})}, {{"dim", dim}});
    x = halved;
  }
  if (c.flag("keepdim", false)) return {x};
  return {c.op("select", {x}, {{"dim", dim}, {"index", 0}})};
}

// Of order 2 that of all parts; of any other that of the magnitudes.
Values norm(Call& c) {
  const char* power = c.find("ord") ? "ord" : "p";
  const V x = parts_of(c, "self");
  Ints dims = dims_of(c, x);
  const Argument* given = c.find(power);
  const bool is_text = given && given->kind == Argument::Kind::text;
  const double order = is_text ? 2 : c.floating(power, 2);
  if (is_text && given->text != "fro") return {c.fail("the norm {}", given->text)};
  const V sizes = order == 2 ? V::none() : magnitude(c, split(c, x));
  const bool keeps = c.flag("keepdim", false);
  if (order == 2) {
    const int64_t rank = c.rank(x) - 1;
    dims.push_back(rank);
    const V y = c.op("linalg_vector_norm", {x}, {{"ord", 2.0}, {"dim", dims}, {"keepdim", keeps}});
    return {keeps ? c.op("squeeze", {y}, {{"dim", Ints{rank}}}) : y};
  }
  if (dims.empty()) return {order == 0 ? c.to(c.op("ne", {sizes, 0}), c.type(x).dtype) : sizes};
  return {c.op("linalg_vector_norm", {sizes}, {{"ord", order}, {"dim", dims}, {"keepdim", keeps}})};
}

// A norm that isn't one of a vector.
Values linalg_norm(Call& c) {
  const size_t dims = c.has("dim") ? c.integers("dim").size() : 0;
  if (c.has("ord") && (dims == 2 || (dims == 0 && c.rank(parts_of(c, "self")) != 2)))
    return {c.fail("a norm of complex matrices")};
  return norm(c);
}

// mean |z - mean z|^2, with n - correction below.
V variance(Call& c) {
  const V x = parts_of(c, "self");
  Ints dims = dims_of(c, x);
  if (!c.ok() || dims.empty()) return c.fail("a variance of one complex number");
  NamedAttrs attrs{{"dim", dims}, {"keepdim", c.flag("keepdim", false)}};
  if (c.has("correction")) attrs.emplace_back("correction", c.value("correction"));
  if (!c.flag("unbiased", true)) attrs.emplace_back("correction", 0);
  const Complex z = split(c, x);
  return c.op("add", {c.op("var", {z.re}, attrs), c.op("var", {z.im}, attrs)});
}

// Elements that aren't 0.
Values some(Call& c, const char* op, bool has_dim) {
  const Complex z = complex_argument(c, "self");
  const V is_there = c.op("logical_or", {c.op("ne", {z.re, 0}), c.op("ne", {z.im, 0})});
  NamedAttrs attrs;
  if (has_dim && c.has("dim")) attrs.emplace_back("dim", c.integers("dim"));
  if (c.flag("keepdim", false)) attrs.emplace_back("keepdim", true);
  return {c.op(op, {is_there}, std::move(attrs))};
}

}  // namespace

std::span<const RuleRow> complex_reduction_rules() {
  static constexpr RuleRow rows[] = {
      {"sum", [](Call& c) { return reduced(c, "sum"); }},
      {"mean", [](Call& c) { return reduced(c, "mean"); }},
      {"prod", product},
      {"norm", norm},
      {"linalg_vector_norm", norm},
      {"linalg_norm", linalg_norm},
      {"var", [](Call& c) -> Values { return {variance(c)}; }},
      {"std", [](Call& c) -> Values { return {c.op("sqrt", {variance(c)})}; }},
      {"count_nonzero", [](Call& c) { return some(c, "sum", true); }},
  };
  return rows;
}

}  // namespace cleave::exported
