// Independent calls of one kind become one call on their stacked operands.
//
//   tanh(a), tanh(b), ...   ->   unbind(tanh(stack([a, b, ...])))
//
// Calls of one key and one depth are a group. The depth of a call counts the calls that compute
// something on the longest way to it, so that calls of one depth can't depend on each other, and
// groups can't depend on each other both ways, however many are made. A group has 5 to 300 calls in
// their order (PyTorch's default for min_fuse_set_size and max_fuse_set_size); more are several
// groups. Only calls of one checkpoint tag, whose first result alone is read. A graph in which a
// call has an effect stays, as calls are moved to make room.
#pragma once
#include <functional>
#include <string>
#include <vector>

#include "ir/builder.h"
#include "pass/pass.h"

namespace cleave {

struct BatchKind {
  // What calls must have in common to be one group; empty: not of this kind.
  std::function<std::string(const OpView&)> key;
  // One value for each call, of the type of its first result.
  std::function<Values(Builder&, const std::vector<OpView>&)> build;
};

// The pass that makes groups until there are none. Matches are groups, nodes their calls.
Pass batch_pass(std::string name, std::string summary, BatchKind kind, bool rounds = false);

// The type of operand `k`, for keys.
std::string type_key(const OpView& call, int k);
// The stack of operand `k` of the calls, along a new first dim.
ValueId stacked(Builder& b, const std::vector<OpView>& calls, int k);
// The parts of a batch along its first dim.
Values unstacked(Builder& b, ValueId batch);

}  // namespace cleave
