// Losses of classes: nll[n, ...] = -weight[t] * x[n, t, ...], 0 where t is ignored.
#include "import/onnx/rules.h"

namespace cleave::onnx {
namespace {

struct Target {
  V index;                // [n, 1, ...], 0 where it is ignored
  V ignored = V::none();  // [n, ...]
};

Target target_of(Call& c, V target) {
  Target t;
  V index = c.convert(target, DType::i64);
  if (c.given("ignore_index")) {
    t.ignored = c.op("eq", {index, AttrValue(c.integer("ignore_index"))});
    index = c.where(t.ignored, AttrValue(int64_t{0}), index);
  }
  t.index = c.unsqueeze(index, 1);
  return t;
}

// The loss of log-probabilities x[n, c, ...], reduced as the attribute says.
Status give_loss(Call& c, V x, V target, V weight) {
  const Target t = target_of(c, target);
  V loss = c.op(
      "neg", {c.op("squeeze", {c.op("gather", {x, t.index}, {{"dim", 1}})}, {{"dim", Ints{1}}})});
  V factor = V::none();  // of each place: its weight, 0 where it is ignored
  if (weight.valid()) {
    Values at = {c.op("squeeze", {t.index}, {{"dim", Ints{1}}})};
    factor = c.op("index", {weight, CallOperand(std::move(at))});
    if (t.ignored.valid()) factor = c.where(t.ignored, 0.0, factor);
  } else if (t.ignored.valid()) {
    factor = c.convert(c.op("logical_not", {t.ignored}), c.dtype(0));
  }
  if (factor.valid()) loss = c.mul(loss, factor);
  const std::string reduction = c.text("reduction", "mean");
  if (!c.status().ok()) return {};
  const Ints all = all_axes(c.rank(loss));
  if (reduction == "sum") {
    loss = c.sum(loss, all);
  } else if (reduction == "mean") {
    loss = factor.valid() ? c.div(c.sum(loss, all), c.sum(factor, all)) : c.mean(loss, all);
  } else if (reduction != "none") {
    return user_error("the reduction \"{}\" isn't known", reduction);
  }
  c.give(0, loss, c.element(0));
  return {};
}

Status negative_log_likelihood(Call& c) {
  if (c.rank(0) < 2 || c.rank(1) != c.rank(0) - 1)
    return user_error("expected [n, c, ...] and [n, ...]");
  return give_loss(c, c.in(0), c.in(1), c.in(2));
}

Status softmax_cross_entropy(Call& c) {
  if (c.rank(0) < 2 || c.rank(1) != c.rank(0) - 1)
    return user_error("expected [n, c, ...] and [n, ...]");
  const V log_probability = c.op("_log_softmax", {c.in(0)}, {{"dim", 1}, {"half_to_float", false}});
  c.give(1, log_probability, c.element(0));
  return give_loss(c, log_probability, c.in(1), c.in(2));
}

constexpr RuleEntry entries[] = {{"NegativeLogLikelihoodLoss", negative_log_likelihood},
                                 {"SoftmaxCrossEntropyLoss", softmax_cross_entropy}};

}  // namespace

std::span<const RuleEntry> loss_rules() { return entries; }

}  // namespace cleave::onnx
