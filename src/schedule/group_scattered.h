// Results of rows whose elements lie apart in memory: each waits in a local buffer of one row, so
// that the loop that computes it runs in vectors.
//
//   for j { scattered[j] = sin(x[p,j] - mean) }
//   for j { y[j,p] = scattered[j] }
#pragma once
#include "schedule/group_kept.h"
#include "schedule/group_results.h"

namespace cleave {

class ScatteredResults {
 public:
  // Takes local buffers of those that `kept` leaves; results for which none is left aren't among
  // them.
  ScatteredResults(GroupContext& c, KeptValues& kept);

  // Stores those among the values of the element in their buffers, and removes them from the list.
  void take(std::vector<ResultValue>& values, const FrameElement& at);
  bool are_stored(size_t pass) const;
  // Stores the element of those that this pass computes, behind it.
  void store(const FrameElement& at, size_t pass);

 private:
  struct Scattered {
    const GroupResult* result;
    int64_t local;  // its local buffer
  };
  GroupContext& c_;
  std::vector<Scattered> list_;
};

}  // namespace cleave
