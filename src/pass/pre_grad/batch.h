// Merges independent calls of one kind into one call on their stacked operands.
//
//   tanh(a), tanh(b), ...   ->   unbind(tanh(stack([a, b, ...])))
//
// Calls of one key and one depth form a group. The depth of a call is the number of computing calls
// on the longest path to it, so calls of one depth can't depend on each other, and groups can't
// depend on each other in both directions, however many are formed. The calls must have the same
// checkpoint tag, and only their first result may be used. Of a joint graph, those that a result
// needs and others form no group, so that it can still be cut. A graph that contains a call with an
// effect is unchanged, since grouping moves calls.
//
// Settings are PyTorch's (fx_passes/group_batch_fusion.py):
//
//   min_fuse_set_size, max_fuse_set_size    5 to 300 calls in their order; more form several
//                                           groups, and groups of one shape a group again
//   max_fuse_search_depth                   0: calls anywhere; n: those that are at most n calls
//                                           above one reader, with none of their kind between
//   fuse_nodes_with_same_users, _parent     1: calls that are read by equal operators; whose
//                                           operands are views of the same values
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
