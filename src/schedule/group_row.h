// One row of a group, pass after pass over its elements.
//
//   for each pass {
//     rstd = rsqrt(square / n + eps)                       results with one value a row
//     fold j {                                             or a plain loop, where nothing is folded
//       kept[j] = ...                                      values for later passes
//       y[p,j] = ...                                       results
//       dw[j] += dy[p,j] * x[p,j]                          sums of columns
//       sum += ...                                         folds, which the next pass reads
//     }
//   }
#pragma once
#include "schedule/column_sums.h"
#include "schedule/group_kept.h"

namespace cleave {

class RowWriter {
 public:
  // columns: where the group has folds over rows too, else nullptr.
  RowWriter(GroupContext& c, ColumnSums* columns);
  void write(const loop::Expr& row);

 private:
  using Folds = std::vector<const FoldCall*>;
  void write_pass(const loop::Exprs& row, size_t pass);
  // The element of the row's part of the frame and these inner ones; gives what the folds add up.
  std::vector<loop::KernelBuilder::Folded> element(const loop::Exprs& row, const loop::Exprs& inner,
                                                   const Folds& folds, size_t pass);
  bool has_work(size_t pass) const;

  GroupContext& c_;
  ColumnSums* columns_;
  KeptValues kept_;
};

// Loops over the extents, outermost first; independent: the innermost one's iterations are.
void nest(loop::KernelBuilder& builder, const loop::Exprs& extents, bool independent,
          const std::function<void(const loop::Exprs&)>& body);

}  // namespace cleave
