// A group of calls as one kernel: its loops.
//
//   rows      parallel over rows; in a row pass after pass over its elements, where a pass reads
//             what the folds of the one before have given
//
//               for p in rows parallel {
//                 fold j { mean += x[p,j] }                                   pass 0
//                 fold j { square += (x[p,j] - mean)^2 }                      pass 1
//                 rstd = rsqrt(square / n + eps)
//                 for j { y[p,j] = (x[p,j] - mean) * rstd * w[j] + b[j] }     pass 2
//               }
//
//   columns   folds over rows, result beside result: parts of the rows add up blocks of columns, a
//             second loop adds up the parts
//   both      parts of the rows; in each row first the passes, and what they give is added to the
//             part's sums (a norm's backward: dx beside dweight and dbias)
//   chunks    few results of long folds: chunks of the elements, then a loop over the chunks
//   plain     no folds: parallel over all but the last dims that every operand walks through as one
//
// In which mode a group runs follows from its folds (group_plan.h); all of them agree on the rows.
#pragma once
#include <functional>

#include "ir/graph.h"
#include "loop/kernel_builder.h"

namespace cleave {

struct GroupResult {
  ValueId value;
  loop::Bound at;
};

struct GroupCode {
  std::vector<NodeId> streams;  // the random calls whose streams are the kernel's scalars
  struct InPlace {
    int64_t operand, result;  // buffers
  };
  std::vector<InPlace> in_place;  // results that may lie over operands (InPlace of program.h)
};

// Memory for the sums of parts: a buffer of the kernel with this many elements.
using MakePartial = std::function<loop::Bound(const std::string& name, DType, int64_t elements)>;

// `operands` are the values from outside, and where they lie. Results that nobody wants are left
// out. The calls fit together (group_check.h).
GroupCode write_group(const Graph& graph, const std::vector<NodeId>& nodes,
                      const std::vector<std::pair<ValueId, loop::Bound>>& operands,
                      const std::vector<GroupResult>& results, loop::Kernel& kernel,
                      const MakePartial& make_partial);

}  // namespace cleave
