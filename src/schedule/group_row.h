// Writes one row of a group, pass by pass over its elements.
//
//   for each pass {
//     rstd = rsqrt(square / n + eps)                       results with one value per row
//     fold j {                                             or a plain loop, if nothing is folded
//       kept[j] = ...                                      values for later passes
//       y[p,j] = ...                                       results
//       dw[j] += dy[p,j] * x[p,j]                          column sums
//       sum += ...                                         folds, which the next pass reads
//     }
//   }
//   for j { z[p,j] = ... }                                 results with rows of another length
#pragma once
#include "schedule/column_sums.h"
#include "schedule/group_kept.h"
#include "schedule/group_scattered.h"

namespace cleave {

class RowWriter {
 public:
  // columns: the column sums, if the group has any, else nullptr.
  RowWriter(GroupContext& c, ColumnSums* columns);
  void write(const loop::Expr& row);

 private:
  using Folds = std::vector<const FoldCall*>;
  void write_pass(const loop::Exprs& row, size_t pass);
  // Writes the element at these row and inner indices; returns what the folds add for it.
  std::vector<loop::KernelBuilder::Folded> element(const loop::Exprs& row, const loop::Exprs& inner,
                                                   const Folds& folds, size_t pass);
  bool has_work(size_t pass) const;
  loop::Exprs element_parts(const loop::Exprs& row, const loop::Exprs& inner);
  // Stores what waits in local buffers.
  void scatter(const loop::Exprs& row, const loop::Exprs& inner_extents, size_t pass);

  GroupContext& c_;
  ColumnSums* columns_;
  KeptValues kept_;
  ScatteredResults scattered_;
};

// Nested loops over the extents, outermost first; `independent` is for the innermost one.
void nest(loop::KernelBuilder& builder, const loop::Exprs& extents, bool independent,
          const std::function<void(const loop::Exprs&)>& body);

}  // namespace cleave
