// Splits groups that can't be one kernel after all.
//
//   %m = amax(%x; dim=[2])     %d = sub(%x, %w)     %y = mul(%w, %m)
//
// share %x and %w, but %y reads %m in another row than it was reduced in (schedule/group_check.h):
// the group becomes {%m, %d} and {%y}.
#pragma once
#include "lower/fuse_known.h"

namespace cleave {

// Each call goes, in order, into the first part behind which all that it reads is made and of which
// it can be a call. The parts run one after the other where the group would. After this each group
// can be one kernel.
void split_groups(const Graph& graph, const FuseCalls& calls, const FoldParts& cut,
                  FuseGroups& groups, FuseKnown& known);

}  // namespace cleave
