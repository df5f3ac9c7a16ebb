// The buffers of each section, the unplaced ones first, and those that begin or end at its borders.
//
//   section s   | a  d  e | b  c |     place(c) exchanges c with the last unplaced one; take_back,
//                unplaced   placed     latest first, only moves the border
#pragma once
#include <span>

#include "plan/offsets_problem.h"

namespace cleave::plan {

class AliveLists {
 public:
  using List = std::span<const uint32_t>;
  explicit AliveLists(const OffsetProblem& p);

  bool placed(uint32_t i) const { return placed_[i]; }
  // In no particular order.
  List unplaced(int32_t s) const { return {alive_.data() + begin_[at(s)], unplaced_[at(s)]}; }
  List placed_in(int32_t s) const {
    const size_t from = begin_[at(s)] + unplaced_[at(s)];
    return {alive_.data() + from, begin_[at(s) + 1] - from};
  }
  // Buffers whose first section is s, or whose last one is, placed or not.
  List first_in(int32_t s) const { return row(first_in_, first_begin_, s); }
  List last_in(int32_t s) const { return row(last_in_, last_begin_, s); }
  // Unplaced buffers that are alive in s and s + 1.
  int32_t crossing(int32_t s) const { return crossing_[at(s)]; }

  void place(uint32_t i);
  void take_back(uint32_t i);  // the latest one placed

 private:
  static size_t at(int32_t section) { return static_cast<size_t>(section); }
  static List row(const std::vector<uint32_t>& all, const std::vector<size_t>& begin, int32_t s) {
    return {all.data() + begin[at(s)], begin[at(s) + 1] - begin[at(s)]};
  }

  const OffsetProblem& p_;
  std::vector<uint8_t> placed_;
  std::vector<int32_t> crossing_;
  // The index in alive_ of buffer i in section s is slot_[slots_[i] + s - first].
  std::vector<uint32_t> alive_, slot_, first_in_, last_in_;
  std::vector<size_t> begin_, unplaced_, slots_, first_begin_, last_begin_;
};

}  // namespace cleave::plan
