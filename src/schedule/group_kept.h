// Values kept for later passes over the row: those that are stored anyway, and, each in a local
// buffer of one row, expensive ones and those whose elements don't lie side by side in memory.
//
//   pass 0: t = erf(x[p,j]); kept[j] = t; s += t        instead of erf twice
//   pass 1: y[p,j] = kept[j] / s
//   results with rows of another length: z[p,j] = kept[j + 4] / s
#pragma once
#include <optional>
#include <unordered_set>

#include "schedule/group_context.h"

namespace cleave {

class KeptValues {
 public:
  // Chooses the values. local_bytes: how many bytes of local buffers they may take.
  KeptValues(GroupContext& c, int64_t local_bytes);

  // For each element in a pass: reads of values kept in earlier passes come from memory from here
  // on.
  void read(const FrameElement& at, size_t pass);
  // Behind the passes: they come from the local buffers for any element of the row.
  void read_row(const loop::Expr& row);
  // Stores the values that this pass keeps.
  void store(const FrameElement& at, size_t pass);
  bool are_stored(size_t pass) const;
  // Whether so many bytes of local buffers are left; takes them.
  bool take_bytes(int64_t bytes);

 private:
  struct Kept {
    ValueId value;
    size_t pass = 0;                      // the pass that computes it
    int64_t local = -1;                   // its local buffer; if -1,
    const GroupResult* result = nullptr;  // the result that it is
  };
  // Decides whether to keep v; returns the passes that still compute it.
  uint64_t keep(ValueId v, uint64_t passes);
  bool is_read_in_place(ValueId v);
  bool is_dear(ValueId v);
  // Whether it is read from memory, directly or through views, where neighbours are apart.
  bool is_gathered(ValueId v);

  GroupContext& c_;
  int64_t local_bytes_;
  std::vector<Kept> kept_;
  std::optional<std::unordered_set<uint32_t>> read_in_place_;  // set when first needed
};

}  // namespace cleave
