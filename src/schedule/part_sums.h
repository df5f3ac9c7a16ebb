// Memory for sums that are taken in parts: one for each part and result of the fold.
//
//   sums[part * results + column]    of all parts, in a buffer of the kernel
//   sums[column]                     of one part, in a buffer of its own (Access::local)
//
// A second loop over the columns folds the parts in order.
#pragma once
#include "schedule/group_context.h"

namespace cleave {

class PartSums {
 public:
  static PartSums of_all(GroupContext& c, const FoldCall& f, const char* name, DType type,
                         const MakePartial& make_partial);
  static PartSums of_one(GroupContext& c, const FoldCall& f, const char* name, DType type);

  DType dtype() const { return dtype_; }
  int64_t buffer() const { return buffer_; }
  loop::Expr load(const loop::Expr& part, const loop::Expr& column) const;
  void store(GroupContext& c, const loop::Expr& part, const loop::Expr& column, loop::Expr x) const;

 private:
  PartSums(int64_t buffer, DType dtype, int64_t results)
      : buffer_(buffer), dtype_(dtype), results_(results) {}
  loop::Expr index(const loop::Expr& part, const loop::Expr& column) const;

  int64_t buffer_;
  DType dtype_;
  int64_t results_;  // of each part; -1 if there is one part
};

// A fold, and what its parts have.
struct PartsOfFold {
  const FoldCall* fold;
  const PartSums* sums;
};
// Folds the parts and stores the results, of all these folds in one loop over blocks of columns;
// rounding sums are added in f64.
void add_parts(GroupContext& c, const std::vector<PartsOfFold>& all);

}  // namespace cleave
