// Fuses calls into kernels: each group of calls becomes one call of `fused`, with a graph as its
// body.
//
//   %a = mul(%x, %w)                    %y, %s = fused([%x, %w, %b]; body=@y.body)
//   %y = add(%a, %b)         ->
//   %s = sum(%y; dim=[1])
//
// The nodes are visited in order. Each joins the group of an operand's producer, or one that reads
// the same operand, if that saves the most bytes (fuse_cost.h); else it starts a group. Values that
// cost next to nothing are computed in every group that reads them, even from the result of a
// reduction: of log(softmax) only the maximum and the sum of each row are stored; the loss and the
// gradient compute what they read from those and the operand.
//
//   order   A group runs at the position of one of its calls. A call joins it there if all that it
//           reads has been made by then, or moves the group to its own position if nobody has read
//           the group yet. So cycles can't arise, and no paths need to be searched.
//   rows    Reductions of one group agree on the rows (schedule/group_kernel.h). A value that is
//           read in another row than it was reduced in is not fused (schedule/group_check.h).
//           A row that is padded, or a part of it, is computed with the row.
//   turned  Calls that read the same values in another order are computed where the group reads
//           them, and stored in their own (schedule/group_orders.h).
//   merged  Groups that read the same value merge where a call of one reads what the other does.
//   again   A recomputed value is needed late. It isn't moved up, before an unfused kernel, to be
//           computed with its first copy, since it would have to be kept from there on.
//   near    Calls with many unfused kernels between them stay apart, since what runs early takes
//           memory until it is read.
//
// Phases: returned views become copies that can be fused (fuse_returned.h), calls are classified
// (fuse_calls.h) and grouped (fuse_groups.h), groups that can't be one kernel are split
// (fuse_split.h), and the graph is rewritten (fuse_rewrite.h). Calls are grouped in several ways,
// of which the fastest by the costs is taken (fuse_plan.h). Linear in the nodes. The graph must be
// static; subgraphs of cond and while_loop are fused too.
#pragma once
#include "ir/graph.h"
#include "ir/op_def.h"
#include "lower/fuse_cost.h"

namespace cleave {

Status fuse_calls(Graph& graph, const OpRegistry& ops, const FuseCosts& costs);

}  // namespace cleave
