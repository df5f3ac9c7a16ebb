// Merges independent calls of one kind into one call on their stacked operands.
//
//   tanh(a), tanh(b), ...   ->   unbind(tanh(stack([a, b, ...])))
//
// Calls of one key and one depth form a group. The depth of a call is the number of computing calls
// on the longest path to it, so calls of one depth can't depend on each other, and groups can't
// depend on each other in both directions, however many are formed. A group has 5 to 300 calls in
// their order (PyTorch's default for min_fuse_set_size and max_fuse_set_size); more calls form
// several groups. The calls must have the same checkpoint tag, and only their first result may be
// used. A graph that contains a call with an effect is unchanged, since grouping moves calls.
#pragma once
#include <functional>
#include <string>
#include <vector>

#include "ir/builder.h"
#include "pass/pass.h"

namespace cleave {

struct BatchKind {
  // The properties that the calls of a group share; empty: a call isn't of this kind.
  std::function<std::string(const OpView&)> key;
  // Returns one value for each call, of the type of its first result.
  std::function<Values(Builder&, const std::vector<OpView>&)> build;
};

// A pass that forms groups until there are none left. Matches are groups, nodes their calls.
Pass batch_pass(std::string name, std::string summary, BatchKind kind, bool rounds = false);

// The type of operand `k`, for keys.
std::string type_key(const OpView& call, int k);
// The stack of operand `k` of the calls, along a new first dim.
ValueId stacked(Builder& b, const std::vector<OpView>& calls, int k);
// The parts of a batch along its first dim.
Values unstacked(Builder& b, ValueId batch);

}  // namespace cleave
