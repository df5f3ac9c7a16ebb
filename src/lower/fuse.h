// Which calls become one kernel: a graph to one whose groups of calls are `fused` calls.
//
//   %a = mul(%x, %w)                    %y, %s = fused([%x, %w, %b]; body=@y.body)
//   %y = add(%a, %b)         ->
//   %s = sum(%y; dim=[1])
//
// A walk over the nodes in their order: each joins the group of an operand's producer, or one that
// reads the same operand, where that saves the most bytes (fuse_cost.h), else it begins a group of
// its own. Values that cost next to nothing are computed in each group that reads them, from a
// fold's result too: of log(softmax) only the maximum and the sum of each row are stored, and the
// loss and the gradient compute what they read from those and the operand.
//
//   order   A group runs where one of its calls stood: a call joins it there if all that it reads
//           is known there, or takes it along to its own place if nobody has read the group yet.
//           So there are no cycles, without any search for paths.
//   rows    Folds of one group agree on the rows (schedule/group_kernel.h); what is read in another
//           row than it was folded in is not fused (schedule/group_check.h).
//   again   What is computed a second time is wanted late: it isn't computed early with the first,
//           in front of a kernel that isn't fused, to be kept.
//   near    Calls far apart, counted in kernels that aren't fused between them, stay apart: what
//           runs early takes memory until it is read.
//
// Three steps: what each call is (fuse_calls.h), which calls are one group (fuse_groups.h), and the
// new graph (fuse_rewrite.h). Linear in the nodes. Static graphs; subgraphs of cond and while_loop
// are fused as well.
#pragma once
#include "ir/graph.h"
#include "ir/op_def.h"
#include "lower/fuse_cost.h"

namespace cleave {

Status fuse_calls(Graph& graph, const OpRegistry& ops, const FuseCosts& costs);

}  // namespace cleave
