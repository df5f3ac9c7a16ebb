// Steps of optimizers: rate, count, then parameters, gradients and states, each as many.
#include "import/onnx/rules.h"

namespace cleave::onnx {
namespace {

// Operand k of group `group`, after the rate and the count.
struct Groups {
  size_t count = 0;
  size_t at(size_t group, size_t k) const { return 2 + group * count + k; }
};

Result<Groups> groups_of(const Call& c, size_t groups) {
  if (c.count() < 2 + groups || (c.count() - 2) % groups != 0)
    return user_error("{} operands, expected 2 and {} for each parameter", c.count(), groups);
  return Groups{(c.count() - 2) / groups};
}

V with_decay(Call& c, V g, V x) {
  const double decay = c.real("norm_coefficient");
  return decay == 0 ? g : c.add(g, c.mul(x, decay));
}

Status adagrad(Call& c) {
  CLEAVE_TRY(const Groups n, groups_of(c, 3));
  for (size_t k = 0; k < n.count; ++k) {
    const V x = c.in(n.at(0, k));
    const DType t = c.dtype(n.at(0, k));
    const V g = with_decay(c, c.in(n.at(1, k)), x);
    const V h = c.add(c.in(n.at(2, k)), c.mul(g, g));
    const V count = c.convert(c.in(1), t);
    const V rate = c.div(c.convert(c.in(0), t), c.add(c.mul(count, c.real("decay_factor")), 1.0));
    const V step = c.div(c.mul(rate, g), c.add(c.op("sqrt", {h}), c.real("epsilon", 1e-6)));
    c.give(k, c.sub(x, step));
    c.give(n.count + k, h);
  }
  return {};
}

Status adam(Call& c) {
  CLEAVE_TRY(const Groups n, groups_of(c, 4));
  const double alpha = c.real("alpha", 0.9), beta = c.real("beta", 0.999),
               after = c.real("norm_coefficient_post");
  for (size_t k = 0; k < n.count; ++k) {
    const V x = c.in(n.at(0, k));
    const DType t = c.dtype(n.at(0, k));
    const V g = with_decay(c, c.in(n.at(1, k)), x);
    const V v = c.add(c.mul(c.in(n.at(2, k)), alpha), c.mul(g, 1 - alpha));
    const V h = c.add(c.mul(c.in(n.at(3, k)), beta), c.mul(c.mul(g, g), 1 - beta));
    const V count = c.convert(c.in(1), t), rate = c.convert(c.in(0), t);
    const V ahead = c.op("sqrt", {c.sub(1.0, c.op("pow", {beta, count}))});
    const V adjusted = c.div(c.mul(rate, ahead), c.sub(1.0, c.op("pow", {alpha, count})));
    const V first = c.op("gt", {count, 0});
    const V now = c.where(first, adjusted, rate);
    V next = c.sub(x, c.div(c.mul(now, v), c.add(c.op("sqrt", {h}), c.real("epsilon", 1e-6))));
    if (after != 0) next = c.mul(next, 1 - after);
    c.give(k, next);
    c.give(n.count + k, v);
    c.give(2 * n.count + k, h);
  }
  return {};
}

Status momentum(Call& c) {
  CLEAVE_TRY(const Groups n, groups_of(c, 3));
  const double alpha = c.real("alpha"), beta = c.real("beta");
  const bool nesterov = c.text("mode") == "nesterov";
  for (size_t k = 0; k < n.count; ++k) {
    const V x = c.in(n.at(0, k));
    const DType t = c.dtype(n.at(0, k));
    const V g = with_decay(c, c.in(n.at(1, k)), x);
    const V later = c.op("gt", {c.in(1), 0});
    const V weight = c.where(later, c.full({}, beta, t), 1.0);
    const V v = c.add(c.mul(c.in(n.at(2, k)), alpha), c.mul(g, weight));
    const V direction = nesterov ? c.add(g, c.mul(v, alpha)) : v;
    c.give(k, c.sub(x, c.mul(c.convert(c.in(0), t), direction)));
    c.give(n.count + k, v);
  }
  return {};
}

constexpr RuleEntry entries[] = {{"ai.onnx.preview.training.Adagrad", adagrad},
                                 {"ai.onnx.preview.training.Adam", adam},
                                 {"ai.onnx.preview.training.Momentum", momentum}};

}  // namespace

std::span<const RuleEntry> optimizer_rules() { return entries; }

}  // namespace cleave::onnx
