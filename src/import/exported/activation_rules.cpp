// Activations and softmax.
#include <cmath>

#include "import/exported/rules.h"

namespace cleave::exported {
namespace {

using V = ValueId;

V self_of(Call& c) { return c.tensor(c.find("self") ? "self" : "input"); }

Values threshold(Call& c) {
  const V x = self_of(c);
  return {c.op("where", {c.op("le", {x, CallOperand(c.value("threshold"))}),
                         CallOperand(c.value("value")), x})};
}

Values prelu(Call& c) {
  const V x = self_of(c), w = c.tensor("weight");
  Shape size(static_cast<size_t>(c.rank(x)), Dim(1));
  if (size.size() > 1) size[1] = c.type(w).numel();
  return {c.op("where", {c.op("gt", {x, 0}), x, c.op("mul", {c.view(w, size), x})})};
}

Values glu(Call& c) {
  const Values halves =
      c.ops("chunk", {self_of(c)}, {{"chunks", 2}, {"dim", c.integer("dim", -1)}});
  if (halves.size() != 2) return {c.fail("glu of a dim that doesn't halve")};
  return {c.op("mul", {halves[0], c.op("sigmoid", {halves[1]})})};
}

Values hard_shrink(Call& c) {
  const V x = self_of(c);
  const double lambda = c.floating("lambd", 0.5);
  return {c.op("where", {c.op("le", {c.op("abs", {x}), lambda}), 0.0, x})};
}

Values soft_shrink(Call& c) {
  const V x = self_of(c);
  const double lambda = c.floating("lambd", 0.5);
  const V nearer =
      c.op("where", {c.op("gt", {x, 0}), c.op("sub", {x, lambda}), c.op("add", {x, lambda})});
  return {c.op("where", {c.op("le", {c.op("abs", {x}), lambda}), 0.0, nearer})};
}

Values mish(Call& c) {
  const V x = self_of(c);
  return {c.op("mul", {x, c.op("tanh", {c.op("softplus", {x})})})};
}

Values softsign(Call& c) {
  const V x = self_of(c);
  return {c.op("div", {x, c.op("add", {c.op("abs", {x}), 1})})};
}

Values tanh_shrink(Call& c) {
  const V x = self_of(c);
  return {c.op("sub", {x, c.op("tanh", {x})})};
}

// Lines of -inf alone give zeros, and no gradient.
Values safe_softmax(Call& c) {
  const V x = self_of(c);
  const int64_t dim = c.integer("dim", -1);
  const V masked = c.op("all", {c.op("eq", {x, -INFINITY})}, {{"dim", dim}, {"keepdim", true}});
  V y = c.op("where", {masked, 0.0, x});
  if (const auto t = c.dtype("dtype")) y = c.to(y, *t);
  return {c.op("where", {masked, 0.0, softmax(c, y, dim, "_softmax")})};
}

Values softmax_of(Call& c, const char* op) {
  V x = self_of(c);
  if (const auto t = c.dtype("dtype")) x = c.to(x, *t);
  return {softmax(c, x, c.integer("dim", -1), op)};
}

}  // namespace

ValueId softmax(Call& c, ValueId x, int64_t dim, const std::string& op) {
  return c.op(op, {x}, {{"dim", dim}, {"half_to_float", false}});
}

// log(sigmoid(x)) = -softplus(-x). Below -40 it is x to the last digit of f64.
ValueId log_sigmoid(Call& c, ValueId x) {
  return c.op("neg", {c.op("softplus", {c.op("neg", {x})}, {{"threshold", 40}})});
}

std::span<const RuleRow> activation_rules() {
  static constexpr RuleRow rows[] = {
      {"softmax", [](Call& c) { return softmax_of(c, "_softmax"); }},
      {"_safe_softmax", safe_softmax},
      {"special_softmax", [](Call& c) { return softmax_of(c, "_softmax"); }},
      {"log_softmax", [](Call& c) { return softmax_of(c, "_log_softmax"); }},
      {"special_log_softmax", [](Call& c) { return softmax_of(c, "_log_softmax"); }},
      {"relu6",
       [](Call& c) -> Values {
         return {c.op("hardtanh", {self_of(c)}, {{"min_val", 0}, {"max_val", 6}})};
       }},
      {"selu",
       [](Call& c) -> Values {
         return {c.op("elu", {self_of(c)},
                      {{"alpha", 1.6732632423543772848170429916717},
                       {"scale", 1.0507009873554804934193349852946}})};
       }},
      {"celu",
       [](Call& c) -> Values {
         const double alpha = c.floating("alpha", 1);
         return {c.op("elu", {self_of(c)}, {{"alpha", alpha}, {"input_scale", 1 / alpha}})};
       }},
      {"mish", in_f32<mish>},
      {"log_sigmoid", in_f32<[](Call& c) -> Values { return {log_sigmoid(c, self_of(c))}; }>},
      {"log_sigmoid_forward",
       [](Call& c) -> Values {
         const V x = self_of(c);
         return {log_sigmoid(c, x), c.op("empty_like", {x})};
       }},
      {"glu", in_f32<glu>},
      {"prelu", in_f32<prelu>},
      {"_prelu_kernel", in_f32<prelu>},
      {"threshold", threshold},
      {"hardshrink", hard_shrink},
      {"softshrink", in_f32<soft_shrink>},
      {"softsign", in_f32<softsign>},
      {"tanhshrink", in_f32<tanh_shrink>},
  };
  return rows;
}

}  // namespace cleave::exported
