// Random numbers: of the program's own state, so that a seed of the file changes nothing.
#include "import/onnx/rules.h"

namespace cleave::onnx {
namespace {

V drawn(Call& c, const char* op, std::vector<CallOperand> operands, NamedAttrs attrs) {
  Result<V> rng = c.importer().rng();
  if (!rng.ok()) {
    c.builder().fail(std::move(rng).failure());
    return {};
  }
  operands.emplace_back(*rng);
  attrs.emplace_back("stream", c.importer().next_stream());
  return c.op(op, std::move(operands), std::move(attrs));
}

// Scaled by 1 / (1 - ratio) where it is kept, in training mode alone.
Status dropout(Call& c) {
  double ratio = c.real("ratio", 0.5);
  bool training = false;
  if (c.version() >= 12) {
    if (c.has(1)) {
      CLEAVE_TRY(const Array r, c.constant(1, "ratio"));
      if (r.numel() == 1) ratio = r.number(0);
    }
    if (c.has(2)) {
      CLEAVE_TRY(const Array mode, c.constant(2, "training_mode"));
      training = mode.numel() == 1 && mode.number(0) != 0;
    }
  }
  if (!(ratio >= 0 && ratio < 1)) return user_error("the ratio is {}, expected [0, 1)", ratio);
  if (!training || ratio == 0) {
    c.give(0, c.value(0));
    c.give(1, c.full(c.shape(0), 1, DType::boolean));
    return {};
  }
  CLEAVE_TRY(const V rng, c.importer().rng());
  const Values y = c.ops("native_dropout", {c.in(0), rng},
                         {{"p", ratio}, {"train", true}, {"stream", c.importer().next_stream()}});
  if (y.size() < 2) return {};
  c.give(0, y[0], c.element(0));
  c.give(1, y[1]);
  return {};
}

Result<Element> element_or(Call& c, Element otherwise) {
  const int64_t e = c.integer("dtype");
  if (e == 0) return otherwise;
  if (e < 0 || e > last_element) return user_error("dtype is {}", e);
  return static_cast<Element>(e);
}

Status give_random(Call& c, const char* op, const Shape& shape, Element e, double scale,
                   double shift) {
  const auto t = carrier(e);
  if (!t || !is_floating(*t)) return unsupported("random numbers of {}", name_of(e));
  const V x = drawn(c, op, {}, {{"size", shape}, {"dtype", *t}});
  c.give(0, c.add(c.mul(x, scale), shift), e);
  return {};
}

Status uniform(Call& c, const Shape& shape, Element otherwise) {
  CLEAVE_TRY(const Element e, element_or(c, otherwise));
  const double low = c.real("low", 0), high = c.real("high", 1);
  return give_random(c, "rand", shape, e, high - low, low);
}
Status normal(Call& c, const Shape& shape, Element otherwise) {
  CLEAVE_TRY(const Element e, element_or(c, otherwise));
  return give_random(c, "randn", shape, e, c.real("scale", 1), c.real("mean", 0));
}
Shape given_shape(Call& c) {
  const Ints s = c.list("shape");
  return {s.begin(), s.end()};
}
Status random_uniform(Call& c) { return uniform(c, given_shape(c), Element::f32); }
Status random_normal(Call& c) { return normal(c, given_shape(c), Element::f32); }
Status random_uniform_like(Call& c) { return uniform(c, c.shape(0), c.element(0)); }
Status random_normal_like(Call& c) { return normal(c, c.shape(0), c.element(0)); }

// 1 with the probability that the operand gives.
Status bernoulli(Call& c) {
  CLEAVE_TRY(const Element e, element_or(c, c.element(0)));
  const DType t = c.dtype(0) == DType::f64 ? DType::f64 : DType::f32;
  const V x = drawn(c, "rand", {}, {{"size", c.shape(0)}, {"dtype", t}});
  c.give(0, c.cast(c.op("lt", {x, c.convert(c.in(0), t)}), Element::boolean, e), e);
  return {};
}

constexpr RuleEntry entries[] = {{"Dropout", dropout},
                                 {"RandomUniform", random_uniform},
                                 {"RandomNormal", random_normal},
                                 {"RandomUniformLike", random_uniform_like},
                                 {"RandomNormalLike", random_normal_like},
                                 {"Bernoulli", bernoulli}};

}  // namespace

std::span<const RuleEntry> random_rules() { return entries; }

}  // namespace cleave::onnx
