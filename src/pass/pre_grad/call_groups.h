// Groups of independent calls.
//
// Calls of one key and one depth form a group. The depth of a call is the number of computing calls
// on the longest path to it, so calls of one depth can't depend on each other, and groups can't
// depend on each other in both directions, however many are formed. The calls must have the same
// checkpoint tag, and only their first result may be used. Of a joint graph, those that a result
// needs and others form no group, so that it can still be cut.
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

#include "pass/pass.h"

namespace cleave {

using CallGroup = std::vector<NodeId>;  // in their order
// The properties that the calls of a group share; empty: a call is in none.
using GroupKey = std::function<std::string(const OpView&)>;

std::vector<PassSetting> group_settings();
// By node.
std::vector<int64_t> call_depths(const Graph& g);
// The groups in the order of their first calls.
std::vector<CallGroup> call_groups(const Graph& g, const GroupKey& key,
                                   const std::vector<PassSetting>& settings);

}  // namespace cleave
