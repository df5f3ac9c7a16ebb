// Phase 3 of fusion: replaces each group by a call of `fused` whose body is the group's calls.
#pragma once
#include <set>
#include <string>

#include "ir/op_def.h"
#include "lower/fuse_groups.h"

namespace cleave {

// `taken` are names of graphs; adds those of the bodies. A group of a single call that isn't a
// view, and one that check_group refuses (group_check.h), is left as it is.
Status rewrite_groups(Graph& graph, const FuseCalls& calls, const FuseGroups& groups,
                      const OpDef& fused, std::set<std::string>& taken);

}  // namespace cleave
