// Reductions and sorting: other names, and compositions.
#include "import/exported/rules.h"
#include "op/wide_grad.h"

namespace cleave::exported {
namespace {

using V = ValueId;

V self_of(Call& c) { return c.tensor("self"); }

NamedAttrs dims_of(Call& c) {
  NamedAttrs attrs;
  if (c.has("dim")) attrs.emplace_back("dim", c.integers("dim"));
  if (c.flag("keepdim", false)) attrs.emplace_back("keepdim", true);
  return attrs;
}

// Correction 1 unless the file gives another one, or unbiased=False.
V variance(Call& c, V x) {
  NamedAttrs attrs = dims_of(c);
  if (c.has("correction")) attrs.emplace_back("correction", c.value("correction"));
  if (!c.flag("unbiased", true)) attrs.emplace_back("correction", 0);
  return c.op("var", {x}, std::move(attrs));
}

// sqrt(var). Of equal values the gradient is 0, as PyTorch has it, and not 0 / 0.
V deviation(Call& c, V x) {
  const DType t = c.type(x).dtype;
  const V v = variance(c, c.to(x, wide(t))), is_zero = c.op("eq", {v, 0});
  const V root = c.op("sqrt", {c.op("where", {is_zero, 1.0, v})});
  return c.to(c.op("where", {is_zero, 0.0, root}), t);
}

Values norm(Call& c) {
  V x = self_of(c);
  NamedAttrs attrs = dims_of(c);
  if (const auto t = c.dtype("dtype")) attrs.emplace_back("dtype", *t);
  const char* power = c.find("ord") ? "ord" : "p";
  if (c.has(power)) attrs.emplace_back("ord", c.value(power));
  return {c.op("linalg_vector_norm", {x}, std::move(attrs))};
}

Values linalg_norm(Call& c) {
  const size_t dims = c.has("dim") ? c.integers("dim").size() : 0;
  const int64_t rank = c.rank(self_of(c));
  if (c.has("ord") && (dims == 2 || (dims == 0 && rank == 2)))
    return find_rule("linalg_matrix_norm", "")(c);
  if (c.has("ord") && dims == 0 && rank > 2) return {c.fail("a norm over {} dims", rank)};
  return norm(c);
}

Values extreme(Call& c, const char* op) {
  const Values both = c.ops(op, {self_of(c)},
                            {{"dim", c.integer("dim", -1)}, {"keepdim", c.flag("keepdim", false)}});
  return both;
}

Values argsort(Call& c) {
  const Values both = c.ops("sort", {self_of(c)},
                            {{"dim", c.integer("dim", -1)},
                             {"descending", c.flag("descending", false)},
                             {"stable", c.flag("stable", false)}});
  return {both.size() == 2 ? both[1] : V()};
}

}  // namespace

std::span<const RuleRow> reduction_rules() {
  static constexpr RuleRow rows[] = {
      {"var", [](Call& c) -> Values { return {variance(c, self_of(c))}; }},
      {"std", [](Call& c) -> Values { return {deviation(c, self_of(c))}; }},
      {"var_mean",
       [](Call& c) -> Values {
         return {variance(c, self_of(c)), c.op("mean", {self_of(c)}, dims_of(c))};
       }},
      {"std_mean",
       [](Call& c) -> Values {
         return {deviation(c, self_of(c)), c.op("mean", {self_of(c)}, dims_of(c))};
       }},
      {"norm", norm},
      {"linalg_norm", linalg_norm},
      {"frobenius_norm", norm},
      {"max.dim", [](Call& c) { return extreme(c, "max"); }},
      {"min.dim", [](Call& c) { return extreme(c, "min"); }},
      {"aminmax",
       [](Call& c) -> Values {
         return {c.op("amin", {self_of(c)}, dims_of(c)), c.op("amax", {self_of(c)}, dims_of(c))};
       }},
      {"special_logsumexp",
       [](Call& c) -> Values { return {c.op("logsumexp", {self_of(c)}, dims_of(c))}; }},
      {"argsort", argsort},
      {"msort", [](Call& c) -> Values { return {c.op("sort", {self_of(c)}, {{"dim", 0}})}; }},
      {"nansum",
       [](Call& c) -> Values {
         const V x = self_of(c);
         return {c.op("sum", {c.op("where", {c.op("isnan", {x}), 0.0, x})}, dims_of(c))};
       }},
      {"count_nonzero",
       [](Call& c) -> Values { return {c.op("sum", {c.op("ne", {self_of(c), 0})}, dims_of(c))}; }},
  };
  return rows;
}

}  // namespace cleave::exported
