// Values that wait for a later pass over their row: those that are stored anyway, and dear ones,
// each in a buffer of the row's own.
//
//   pass 0: t = erf(x[p,j]); kept[j] = t; s += t        instead of erf twice
//   pass 1: y[p,j] = kept[j] / s
#pragma once
#include <optional>
#include <unordered_set>

#include "schedule/group_context.h"

namespace cleave {

class KeptValues {
 public:
  // Chooses them. local_bytes: of local buffers, how many they may have at the most.
  KeptValues(GroupContext& c, int64_t local_bytes);

  // In a pass, for each element: from here on reads those of earlier passes.
  void read(const FrameElement& at, size_t pass);
  // Keeps what this pass computes.
  void store(const FrameElement& at, size_t pass);
  bool are_stored(size_t pass) const;

 private:
  struct Kept {
    ValueId value;
    size_t pass = 0;                      // in which it is computed
    int64_t local = -1;                   // a buffer of its own, else
    const GroupResult* result = nullptr;  // where it is stored anyway
  };
  // The passes in which it is still computed once it was decided whether to keep it.
  uint64_t keep(ValueId v, uint64_t passes);
  bool is_read_in_place(ValueId v);

  GroupContext& c_;
  int64_t local_bytes_;
  std::vector<Kept> kept_;
  std::optional<std::unordered_set<uint32_t>> read_in_place_;  // once asked for
};

}  // namespace cleave
