// Writers of a group's loops, one for each GroupMode (drawn in group_kernel.h).
#pragma once
#include "schedule/group_context.h"

namespace cleave {

void write_plain(GroupContext& c);
void write_rows(GroupContext& c);
void write_rows_and_columns(GroupContext& c, const MakePartial& make_partial);
void write_columns(GroupContext& c, const MakePartial& make_partial);
void write_lanes(GroupContext& c);
void write_chunks(GroupContext& c, const MakePartial& make_partial);
void write_own_loops(GroupContext& c, const MakePartial& make_partial);

}  // namespace cleave
