// Tensors without operands.
#include "export/onnx/rules.h"

namespace cleave::to_onnx {
namespace {

Status full(Call& c) {
  const DType t = c.result(0).dtype;
  const AttrValue& value = c.op().attr("fill_value");
  if (const Dim* d = value.get<Dim>(); d && !d->is_const()) {
    c.give(0, c.expand(c.number(value, carried(t)), c.result(0).shape));
    return {};
  }
  const V number =
      is_floating(t)        ? c.number(value.as_double(), t)
      : t == DType::boolean ? c.model().integer_number(value.as_double() != 0, t)
      : value.get<double>() ? c.model().integer_number(truncate_to(t, value.as_double()), t)
      : value.get<Dim>()    ? c.model().integer_number(wrap_to(t, value.get<Dim>()->value()), t)
                            : c.model().integer_number(value.as_double() != 0, t);
  c.give(0, c.result(0).rank() == 0 ? number : c.full(number, c.result(0).shape));
  return {};
}

// start + k * step: integers in i64, floats in f64 and rounded once.
Status arange(Call& c) {
  const DType t = c.result(0).dtype;
  const V index = c.range(c.result(0).shape[0]);
  const DType work = is_floating(t) ? DType::f64 : DType::i64;
  const V step = c.number(c.op().attr("step"), work), start = c.number(c.op().attr("start"), work);
  V y = c.cast(index, work);
  const auto is = [&](const char* name, double v) {
    return c.op().attr(name).as_double() == v;  // NaN for a symbolic one
  };
  if (!is("step", 1)) y = c.node("Mul", {y, step});
  if (!is("start", 0)) y = c.node("Add", {y, start});
  c.give(0, y);
  return {};
}

constexpr RuleEntry rules[] = {{"full", full}, {"arange", arange}};

}  // namespace

std::span<const RuleEntry> constructor_rules() { return rules; }

}  // namespace cleave::to_onnx
