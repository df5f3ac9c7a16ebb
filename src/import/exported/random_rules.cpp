// Random tensors: they read the program's rng_state, each under a stream of its own.
#include <cmath>

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

// In the place of what self held; or of means and deviations that are numbers or tensors.
Values normal(Call& c) {
  const auto operand = [&](const char* name, double otherwise) {
    return c.has_tensor(name) ? CallOperand(c.tensor(name))
                              : CallOperand(c.floating(name, otherwise));
  };
  const CallOperand mean = operand("mean", 0), std = operand("std", 1);
  V n;
  if (c.has_tensor("self")) {
    n = like(c, "randn")[0];
  } else if (c.has("size")) {
    n = by_size(c, "randn")[0];
  } else {
    const V one = c.tensor(c.has_tensor("mean") ? "mean" : "std");
    const V both = c.has_tensor("mean") && c.has_tensor("std")
                       ? c.op("add", {c.tensor("mean"), c.tensor("std")})
                       : one;
    const Type t = c.type(both);
    n = drawn(c, "randn", t.shape, t.dtype)[0];
  }
  return {c.op("add", {c.op("mul", {n, std}), mean})};
}

// -log(1 - u) of a u in [0, 1)
V exponential_draw(Call& c, const Shape& size, DType t) {
  const V u = drawn(c, "rand", size, t)[0];
  return c.op("neg", {c.op("log1p", {c.op("neg", {u})})});
}

Values exponential(Call& c) {
  const Type t = c.type(c.tensor("self"));
  return {c.op("div", {exponential_draw(c, t.shape, t.dtype), c.floating("lambd", 1)})};
}

Values log_normal(Call& c) {
  const V n = like(c, "randn")[0];
  const V x = c.op("mul", {n, c.floating("std", 2)});
  return {c.op("exp", {c.op("add", {x, c.floating("mean", 1)})})};
}

Values cauchy(Call& c) {
  const V u = c.op("sub", {like(c, "rand")[0], 0.5});
  const V x = c.op("mul", {c.op("tan", {c.op("mul", {u, M_PI})}), c.floating("sigma", 1)});
  return {c.op("add", {x, c.floating("median", 0)})};
}

// Trials until the first success of probability p.
Values geometric(Call& c) {
  const Type t = c.type(c.tensor("self"));
  const DType wide = is_floating(t.dtype) ? t.dtype : DType::f32;
  const V x = c.op("div", {exponential_draw(c, t.shape, wide), -std::log1p(-c.floating("p", 0.5))});
  return {c.to(c.op("clamp", {c.op("ceil", {x}), 1.0}), t.dtype)};
}

// Rows of weights to places. Without replacement the places of the largest w / e, e exponential.
Values multinomial(Call& c) {
  V w = c.tensor("self");
  const bool single = c.rank(w) == 1;
  const int64_t n = c.integer("num_samples", 1);
  if (c.rank(w) != 1 && c.rank(w) != 2) return {c.fail("multinomial of rank {}", c.rank(w))};
  if (single) w = c.op("unsqueeze", {w}, {{"dim", 0}});
  w = c.to(w, c.type(w).dtype == DType::f64 ? DType::f64 : DType::f32);
  const Type t = c.type(w);
  V y;
  if (c.flag("replacement", false) && n > 1) {
    const V sums = c.op("cumsum", {w}, {{"dim", -1}});
    const V all = c.op("sum", {w}, {{"dim", std::vector<int64_t>{-1}}, {"keepdim", true}});
    const V u = c.op("mul", {drawn(c, "rand", {t.shape[0], Dim(n)}, t.dtype)[0], all});
    const V before =
        c.op("le", {c.op("unsqueeze", {sums}, {{"dim", 1}}), c.op("unsqueeze", {u}, {{"dim", 2}})});
    y = c.op("sum", {before}, {{"dim", std::vector<int64_t>{-1}}});
  } else {
    const V e = exponential_draw(c, t.shape, t.dtype);
    const Values top = c.ops("topk", {c.op("div", {w, e})}, {{"k", n}});
    y = top.size() == 2 ? top[1] : V::none();
  }
  return {single ? c.op("squeeze", {y}, {{"dim", std::vector<int64_t>{0}}}) : y};
}

// Dropped elements become what keeps mean and deviation of selu's results.
Values alpha_dropout(Call& c, bool features) {
  constexpr double alpha = 1.7580993408473766;
  const V x = c.tensor("input");
  const double p = c.floating("p", 0.5);
  if (!c.flag("train", true) || p == 0) return {x};
  if (p >= 1) return {c.op("mul", {x, 0.0})};
  Shape shape = c.type(x).shape;
  if (features && shape.size() < 2) return {c.fail("feature dropout of rank {}", shape.size())};
  for (size_t k = 2; features && k < shape.size(); ++k) shape[k] = 1;
  const V u = drawn(c, "rand", shape, DType::f32)[0];
  const V kept = c.to(c.op("ge", {u, p}), c.type(x).dtype);
  const double a = 1 / std::sqrt((alpha * alpha * p + 1) * (1 - p));
  const V shift = c.op("add", {c.op("mul", {c.op("sub", {kept, 1.0}), alpha * a}), alpha * a * p});
  return {c.op("add", {c.op("mul", {x, c.op("mul", {kept, a})}), shift})};
}

// Slopes of [lower, upper] below 0.
Values rrelu(Call& c) {
  const V x = c.tensor("self");
  const double lower = c.floating("lower", 0.125), upper = c.floating("upper", 1.0 / 3);
  if (!c.flag("training", false))
    return {c.op("leaky_relu", {x}, {{"negative_slope", (lower + upper) / 2}})};
  const V slope = c.op("add", {c.op("mul", {like(c, "rand")[0], upper - lower}), lower});
  return {c.op("where", {c.op("le", {x, 0.0}), c.op("mul", {x, slope}), x})};
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
      {"normal_functional", normal},
      {"exponential", exponential},
      {"log_normal", log_normal},
      {"cauchy", cauchy},
      {"geometric", geometric},
      {"multinomial", multinomial},
      {"alpha_dropout", [](Call& c) { return alpha_dropout(c, false); }},
      {"feature_alpha_dropout", [](Call& c) { return alpha_dropout(c, true); }},
      {"rrelu", rrelu},
      {"bernoulli", bernoulli},
  };
  return rows;
}

}  // namespace cleave::exported
