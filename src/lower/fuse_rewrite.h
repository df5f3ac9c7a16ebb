// The third step of fusion: a call `fused` in the place of each group, with its calls as the body.
#pragma once
#include <set>
#include <string>

#include "ir/op_def.h"
#include "lower/fuse_groups.h"

namespace cleave {

// `taken` are the names of graphs, to which those of the bodies are added. Groups of one kernel
// alone, and those that are no kernel after all (group_check.h), stay calls.
Status rewrite_groups(Graph& graph, const FuseCalls& calls, const FuseGroups& groups,
                      const OpDef& fused, std::set<std::string>& taken);

}  // namespace cleave
