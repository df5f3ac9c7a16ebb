// The loops of a group of calls as one kernel.
//
//   rows      parallel over rows, with several passes over the elements of a row; a pass reads the
//             results of the folds of earlier passes
//
//               for p in rows parallel {
//                 fold j { mean += x[p,j] }                                   pass 0
//                 fold j { square += (x[p,j] - mean)^2 }                      pass 1
//                 rstd = rsqrt(square / n + eps)
//                 for j { y[p,j] = (x[p,j] - mean) * rstd * w[j] + b[j] }     pass 2
//               }
//
//             Results with rows of another length (a row that is padded, or a part of it) have
//             loops of their own behind the passes; those in another order are stored where they
//             lie.
//
//   columns   folds over rows with adjacent results: parts of the rows are folded for blocks of
//             columns, then a second loop adds the parts
//   both      parts of the rows; for each row first the passes, which also add to the part's column
//             sums (the backward of a norm: dx beside dweight and dbias)
//   lanes     rows side by side in the innermost dim: a block of rows in lanes, with several passes
//   chunks    few results of long folds: chunks of the elements, then a loop over the chunks
//   plain     no folds: parallel over all dims except the last ones that every operand traverses as
//             one
//   own loops those of the last call, which adds rows at positions that it reads: what the other
//             calls compute for it is computed there (the gradient of a gather)
//
// The mode follows from the folds (group_plan.h), which must agree on the rows.
#pragma once
#include <functional>

#include "ir/graph.h"
#include "loop/kernel_builder.h"
#include "schedule/fold_form.h"
#include "schedule/loop_choices.h"

namespace cleave {

struct GroupResult {
  ValueId value;
  loop::Bound at;
};

struct GroupCode {
  std::vector<NodeId> streams;  // random calls, whose streams are the kernel's scalars
  struct InPlace {
    int64_t operand, result;  // buffers
  };
  std::vector<InPlace> in_place;  // what may share a storage (InPlace of program.h)
};

// Adds a buffer with this many elements to the kernel, for the sums of parts.
using MakePartial = std::function<loop::Bound(const std::string& name, DType, int64_t elements)>;

// `operands` are the values from outside and their memory. Unwanted results are left out of
// `results`. Precondition: check_group accepts the calls.
GroupCode write_group(const Graph& graph, const std::vector<NodeId>& nodes,
                      const std::vector<std::pair<ValueId, loop::Bound>>& operands,
                      const std::vector<GroupResult>& results, loop::Kernel& kernel,
                      const MakePartial& make_partial, const FoldParts& cut = {},
                      const LoopChoices& loops = {});

}  // namespace cleave
