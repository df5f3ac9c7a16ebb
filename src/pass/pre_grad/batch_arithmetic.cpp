// Merges independent sums, differences, products or quotients of two values of one shape into one.
//
//   add(a, p), add(b, q), ...  ->  unbind(add(stack([a, b, ...]), stack([p, q, ...])))    batch.h
//
// Both operands must have the same shape, and all calls the same attributes. Runs only on request:
// see batch_activation.
#include <algorithm>

#include "pass/passes.h"
#include "pass/pre_grad/batch.h"

namespace cleave {
namespace {

const std::vector<std::string> operators = {"add", "sub", "mul", "div"};

NamedAttrs attrs_of(const OpView& call) {
  NamedAttrs out;
  for (const auto& [arg, value] : call.attrs().given())
    out.emplace_back(call.def().schema.args[arg].name, value);
  return out;
}

std::string key(const OpView& call) {
  if (std::ranges::find(operators, call.name()) == operators.end()) return "";
  if (!call.has(0) || !call.has(1) || call.in_type(0).shape != call.in_type(1).shape) return "";
  std::string out = call.name() + type_key(call, 0) + type_key(call, 1);
  for (const auto& [name, value] : attrs_of(call)) out += " " + name + "=" + value.text();
  return out;
}

Values build(Builder& b, const std::vector<OpView>& calls) {
  const ValueId left = stacked(b, calls, 0), right = stacked(b, calls, 1);
  return unstacked(b, b.call1(calls[0].name(), {left, right}, attrs_of(calls[0])));
}

}  // namespace

BatchKind arithmetic_kind() { return {.key = key, .build = build}; }

Pass batch_arithmetic() {
  return batch_pass("batch_arithmetic",
                    "independent calls of + - * / on values of one shape become one",
                    arithmetic_kind());
}

}  // namespace cleave
