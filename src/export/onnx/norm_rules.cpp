// Softmax, norms, and dropout as it is in inference.
#include "export/onnx/rules.h"
#include "op/dims.h"

namespace cleave::to_onnx {
namespace {

Status along_dim(Call& c, const char* onnx) {
  if (c.rank(0) == 0) return c.refused("a tensor of no dims");
  const int64_t dim = from_front(c.op().int_attr("dim"), c.rank(0));
  c.give(0, c.node(onnx, {c.carried(0)}, {integer("axis", dim)}));
  return {};
}
Status softmax(Call& c) { return along_dim(c, "Softmax"); }
Status log_softmax(Call& c) { return along_dim(c, "LogSoftmax"); }

// Ones or zeros in the place of an operand that isn't given.
V or_number(Call& c, int k, double number, const Shape& shape, DType t) {
  return c.has(k) ? c.in(k, t) : c.full(c.number(number, t), shape);
}

// LayerNormalization has its statistics in f32.
Status layer_norm(Call& c) {
  const V x = c.carried(0);
  if (x.dtype == DType::f64) return c.refused("f64");
  if (is_empty(c.shape(0))) return c.refused("its operand is empty");
  const Shape inner = c.op().dims_attr("normalized_shape");
  Vs operands = {x, or_number(c, 1, 1, inner, x.dtype)};
  if (c.has(2)) operands.push_back(c.in(2, x.dtype));
  const bool statistics = c.wants(1) || c.wants(2);
  const std::vector<DType> results(statistics ? 3 : 1, DType::f32);
  const Vs y = c.model().nodes("LayerNormalization", operands, results,
                               {integer("axis", -static_cast<int64_t>(inner.size())),
                                real("epsilon", c.op().float_attr("eps"))});
  for (size_t k = 0; k < y.size(); ++k) c.give(static_cast<int>(k), y[k]);
  return {};
}

// By running statistics.
Status batch_norm(Call& c) {
  if (c.wants(1) || c.wants(2)) return c.refused("its statistics are read");
  const V x = c.carried(0);
  if (is_empty(c.shape(0))) return c.refused("its operand is empty");
  const Shape channels = {c.shape(0)[1]};
  c.give(0, c.node("BatchNormalization",
                   {x, or_number(c, 1, 1, channels, x.dtype), or_number(c, 2, 0, channels, x.dtype),
                    c.in(3, x.dtype), c.in(4, x.dtype)},
                   {real("epsilon", c.op().float_attr("eps"))}));
  return {};
}

Status dropout(Call& c) {
  const bool* train = c.op().attr("train").get<bool>();
  if (!(train && !*train) && c.op().float_attr("p") != 0) return c.refused("draws random numbers");
  c.give(0, c.in(0));
  if (c.wants(1)) c.give(1, c.expand(c.number(1, DType::boolean), c.shape(0)));
  return {};
}

constexpr RuleEntry rules[] = {{"_softmax", softmax},
                               {"_log_softmax", log_softmax},
                               {"native_layer_norm", layer_norm},
                               {"_native_batch_norm_legit_no_training", batch_norm},
                               {"native_dropout", dropout}};

}  // namespace

std::span<const RuleEntry> norm_rules() { return rules; }

}  // namespace cleave::to_onnx
