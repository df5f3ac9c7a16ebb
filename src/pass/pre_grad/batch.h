// Merges independent calls of one kind into one call on their stacked operands.
//
//   tanh(a), tanh(b), ...   ->   unbind(tanh(stack([a, b, ...])))
//
// Groups are those of call_groups.h. A graph that contains a call with an effect is unchanged,
// since grouping moves calls.
#pragma once
#include <functional>
#include <string>
#include <vector>

#include "ir/builder.h"
#include "pass/pre_grad/call_groups.h"

namespace cleave {

struct BatchKind {
  GroupKey key;
  // Returns one value for each call, of the type of its first result.
  std::function<Values(Builder&, const std::vector<OpView>&)> build;
};

// A pass that forms groups until there are none left. Matches are groups, nodes their calls.
Pass batch_pass(std::string name, std::string summary, BatchKind kind, bool rounds = false);

// The kinds that passes before and after gradients share.
BatchKind linear_kind();
BatchKind activation_kind();
BatchKind arithmetic_kind();

// The type of operand `k`, for keys.
std::string type_key(const OpView& call, int k);
// The stack of operand `k` of the calls, along a new first dim.
ValueId stacked(Builder& b, const std::vector<OpView>& calls, int k);
// The parts of a batch along its first dim.
Values unstacked(Builder& b, ValueId batch);

}  // namespace cleave
