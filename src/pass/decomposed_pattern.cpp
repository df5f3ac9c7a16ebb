#include "pass/decomposed_pattern.h"

#include <algorithm>
#include <cmath>

#include "ir/op_view.h"

namespace cleave {

Dim dim_from_end(const Type& t, int64_t k) {
  return t.rank() >= k ? t.shape[static_cast<size_t>(t.rank() - k)] : Dim(1);
}

bool DecomposedPattern::is_call(ValueId v, std::initializer_list<std::string_view> ops) const {
  const NodeId n = def(v);
  return n.valid() && std::ranges::find(ops, g_.node(n).op->name) != ops.end();
}

std::optional<ValueId> DecomposedPattern::below_view(ValueId v) const {
  if (!is_call(v, {"view", "reshape", "_unsafe_view", "expand", "clone", "alias", "unsqueeze",
                   "squeeze"}))
    return std::nullopt;
  const ValueId in = g_.node(def(v)).inputs[0];
  const Type &from = g_.type(in), &to = g_.type(v);
  const bool same = from.rank() >= 2 && to.rank() >= 2 &&
                    dim_from_end(from, 1) == dim_from_end(to, 1) &&
                    dim_from_end(from, 2) == dim_from_end(to, 2) && from.numel() == to.numel();
  return same ? std::optional(in) : std::nullopt;
}

std::optional<double> DecomposedPattern::number_of(const OpView& op, int k) const {
  if (op.is_number(k)) return op.number(k).as_double();
  return filled(op.in(k));
}
std::optional<double> DecomposedPattern::filled(ValueId v) const {
  if (is_call(v, {"full", "full_like"})) return g_.view(def(v)).attr("fill_value").as_double();
  if (is_call(v, {"scalar_tensor"})) return g_.view(def(v)).attr("s").as_double();
  if (is_call(v, {"zeros", "zeros_like"})) return 0;
  if (is_call(v, {"expand", "view", "_to_copy"})) return filled(g_.node(def(v)).inputs[0]);
  return std::nullopt;
}

std::optional<DecomposedPattern::Scaled> DecomposedPattern::below_scale(ValueId v) const {
  if (!is_call(v, {"mul", "div"})) return std::nullopt;
  const OpView op = g_.view(def(v));
  const bool divides = op.name() == "div";
  if (divides && op.given("rounding_mode")) return std::nullopt;
  if (const auto c = number_of(op, 1)) {
    if (op.is_number(0) || !(op.in_type(0).shape == op.out_type(0).shape)) return std::nullopt;
    if (*c == 0 || !std::isfinite(*c)) return std::nullopt;
    return Scaled{op.in(0), divides ? 1 / *c : *c};
  }
  if (const auto c = divides ? std::nullopt : number_of(op, 0)) {
    if (op.is_number(1) || !(op.in_type(1).shape == op.out_type(0).shape)) return std::nullopt;
    if (*c != 0 && std::isfinite(*c)) return Scaled{op.in(1), *c};
  }
  return std::nullopt;
}

std::optional<ValueId> DecomposedPattern::below_convert(ValueId v) const {
  if (!is_call(v, {"_to_copy"})) return std::nullopt;
  const ValueId in = g_.node(def(v)).inputs[0];
  const auto is_work = [](DType t) {
    return t == DType::f32 || t == DType::bf16 || t == DType::f16;
  };
  return is_work(g_.type(in).dtype) && is_work(g_.type(v).dtype) ? std::optional(in) : std::nullopt;
}

}  // namespace cleave
