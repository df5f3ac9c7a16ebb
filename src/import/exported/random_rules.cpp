// Random tensors: they read the program's rng_state, each under a stream of its own.
#include "import/exported/rules.h"

namespace cleave::exported {
namespace {

using V = ValueId;

Values drawn(Call& c, const char* op, const Shape& size, DType t, NamedAttrs more = {}) {
  NamedAttrs attrs{{"size", size}, {"dtype", t}, {"stream", c.stream()}};
  for (auto& a : more) attrs.push_back(std::move(a));
  return {c.op(op, {c.rng()}, std::move(attrs))};
}

Values by_size(Call& c, const char* op) {
  return drawn(c, op, c.sizes("size"), c.dtype("dtype").value_or(DType::f32));
}

Values like(Call& c, const char* op) {
  const Type t = c.type(c.tensor("self"));
  return drawn(c, op, t.shape, c.dtype("dtype").value_or(t.dtype));
}

Values integers(Call& c, const Shape& size, DType t) {
  return drawn(c, "randint", size, t,
               {{"low", c.integer("low", 0)}, {"high", c.integer("high", 1)}});
}

// from + (to - from) u, mean + std n: in the place of what the tensor held.
Values uniform(Call& c) {
  const V u = like(c, "rand")[0];
  const double from = c.floating("from", 0), to = c.floating("to", 1);
  return {c.op("add", {c.op("mul", {u, to - from}), from})};
}

Values normal(Call& c) {
  const V n = like(c, "randn")[0];
  return {c.op("add", {c.op("mul", {n, c.floating("std", 1)}), c.floating("mean", 0)})};
}

Values bernoulli(Call& c) {
  NamedAttrs attrs{{"stream", c.stream()}};
  if (c.has("p")) attrs.emplace_back("p", c.floating("p", 0.5));
  return {c.op("bernoulli", {c.tensor("self"), c.rng()}, std::move(attrs))};
}

}  // namespace

std::span<const RuleRow> random_rules() {
  static constexpr RuleRow rows[] = {
      {"rand", [](Call& c) { return by_size(c, "rand"); }},
      {"randn", [](Call& c) { return by_size(c, "randn"); }},
      {"rand_like", [](Call& c) { return like(c, "rand"); }},
      {"randn_like", [](Call& c) { return like(c, "randn"); }},
      {"randint",
       [](Call& c) { return integers(c, c.sizes("size"), c.dtype("dtype").value_or(DType::i64)); }},
      {"randint_like",
       [](Call& c) {
         const Type t = c.type(c.tensor("self"));
         return integers(c, t.shape, c.dtype("dtype").value_or(t.dtype));
       }},
      {"randperm",
       [](Call& c) -> Values {
         return {c.op("randperm", {c.rng()}, {{"n", c.value("n")}, {"stream", c.stream()}})};
       }},
      {"uniform", uniform},
      {"normal", normal},
      {"bernoulli", bernoulli},
  };
  return rows;
}

}  // namespace cleave::exported
