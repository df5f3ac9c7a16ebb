// Lower bounds on the offsets of unplaced buffers, maintained while a search places and undoes.
//
//   offset  |   +---+            floor(s)    no unplaced buffer begins lower in section s
//     ^     |   | j |  +---+     lowest(j)   nor does buffer j
//     |   --+---+---+--| k |--   rest(s)     sum of the unplaced sizes in s
//     |   floor(s)     +---+     slack(s)    capacity - floor(s) - rest(s): what may stay empty
//     +---------s-----------> section
//
// Every change is propagated to a fixed point:
//   floor     the least lowest(j) of those in s; lowest(j) the largest floor of its sections
//   space     in each section, placed in sequence, each no lower than its lowest, they end at the
//             capacity or below: 1|r_j|Cmax
//   not first lowest(j) + rest(s) above the capacity: some k of s is below j, one that may be
//             first, so that lowest(j) is no less than the least lowest(k) + size(k)
//   border    between s and s + 1: below the lowest buffer that is in both, only those lie that are
//             in one. So its offset is floor(s) + some of the sizes that end with s + at most
//             slack(s), and the same of s + 1 and what begins there
#pragma once
#include <limits>

#include "plan/offsets_alive.h"

namespace cleave::plan {

class Floors {
 public:
  Floors(const OffsetProblem& p, int64_t capacity);

  int64_t floor(int32_t s) const { return floor_[at(s)]; }
  int64_t rest(int32_t s) const { return rest_[at(s)]; }
  int64_t slack(int32_t s) const { return capacity_ - floor_[at(s)] - rest_[at(s)]; }
  int64_t lowest(uint32_t i) const { return lowest_[i]; }
  const AliveLists& alive() const { return alive_; }
  // How often the capacity couldn't be kept in s.
  int64_t failures(int32_t s) const { return failures_[at(s)]; }

  // Each returns false if the capacity can't be kept; the change is then incomplete: undo it.
  bool start();
  bool place(uint32_t i);  // at lowest(i), which is the floor of all its sections
  // Assumes that no buffer begins at the floor of s: those that could are on an unplaced buffer.
  bool lift(int32_t s);

  size_t changes() const { return trail_.size(); }
  void undo_to(size_t changes);  // except place: then take_back the same, latest first
  void take_back(uint32_t i) { alive_.take_back(i); }

  int64_t work = 0;  // elementary operations done

 private:
  struct Change {
    int64_t* where;
    int64_t before;
  };
  static constexpr int64_t infinite = std::numeric_limits<int64_t>::max();
  static size_t at(int32_t section) { return static_cast<size_t>(section); }
  void set(int64_t& where, int64_t value);
  void mark(int32_t s);
  void mark_border(int32_t s);  // between s and s + 1
  void raise(uint32_t i, int64_t lowest);
  bool settle();
  bool settle_section(int32_t s);
  bool fits_late(int32_t s);
  bool settle_border(int32_t s);
  bool sums_of(AliveLists::List list, int64_t base, std::vector<int64_t>& sums);

  const OffsetProblem& p_;
  const int64_t capacity_;
  AliveLists alive_;
  std::vector<int64_t> floor_, rest_, lowest_, failures_;
  std::vector<uint8_t> marked_, marked_border_;
  std::vector<int32_t> queue_, borders_;  // sections and borders that are marked
  std::vector<std::pair<int64_t, uint32_t>> late_;
  std::vector<int64_t> ends_, begins_;  // sums
  std::vector<Change> trail_;
};

}  // namespace cleave::plan
