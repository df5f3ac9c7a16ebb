// Column sums of a kernel that also works on each row (the backward of a norm: dweight and dbias
// beside dx). Long parts are summed in blocks of rows: a block in the fold's own type, the blocks
// in f64.
//
//   for part in parts parallel {
//     partial[part, :] = 0; total[part, :] = 0                     begin
//     for block of rows {
//       for p in block { partial[part, j] += dy[p, j] * x[p, j] }  add
//       total[part, :] += partial[part, :]; partial[part, :] = 0   add_block
//     }
//     partial[part, :] = total[part, :]                            add_blocks
//     db[:] = partial[:]                                           end_part, of a single part
//   }
//   for j parallel { db[j] = sum of partial[:, j] }                end, of several
#pragma once
#include <optional>

#include "schedule/part_sums.h"

namespace cleave {

class ColumnSums {
 public:
  ColumnSums(GroupContext& c, const MakePartial& make_partial);

  const FoldForm& cut() const { return folds_.back().call->form; }
  int64_t local_bytes() const { return local_bytes_; }
  bool has_blocks() const;

  void begin(const loop::Expr& part);
  void add(const FoldCall& f, const loop::Expr& column, const loop::Expr& x);
  void add_block();
  void add_blocks();
  void end_part();
  void end();

 private:
  struct Fold {
    const FoldCall* call;
    std::optional<PartSums> partial, total = std::nullopt;
  };
  void make(bool is_local, bool local_totals, const MakePartial& make_partial);

  GroupContext& c_;
  std::vector<Fold> folds_;
  loop::Expr part_;
  bool is_local_ = false;    // there is one part, whose sums are local
  int64_t local_bytes_ = 0;  // of the local buffers
};

}  // namespace cleave
