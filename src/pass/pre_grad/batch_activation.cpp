// Merges independent activations of one shape into one activation of their stack.
//
//   tanh(a), tanh(b), ...  ->  unbind(tanh(stack([a, b, ...])))      batch.h
//
// One kernel replaces many, at the cost of a copy of each operand: runs only on request, as in
// PyTorch. It pays on devices where a launch costs more than the copy, and where stack and unbind
// cancel with their neighbours (merge_pieces, cancel_joins).
#include <algorithm>

#include "pass/passes.h"
#include "pass/pre_grad/batch.h"

namespace cleave {
namespace {

const std::vector<std::string> activations = {"tanh", "sigmoid", "relu"};

std::string key(const OpView& call) {
  if (std::ranges::find(activations, call.name()) == activations.end()) return "";
  return call.name() + type_key(call, 0);
}

Values build(Builder& b, const std::vector<OpView>& calls) {
  const std::string op = calls[0].name();
  return unstacked(b, b.call1(op, {stacked(b, calls, 0)}));
}

}  // namespace

BatchKind activation_kind() { return {.key = key, .build = build}; }

Pass batch_activation() {
  return batch_pass("batch_activation",
                    "independent activations of one shape become one, of their stack",
                    activation_kind());
}

}  // namespace cleave
