// Bytes in memory at each step, under additions to ranges of steps: a segment tree of two levels,
// whose leaves are blocks of about sqrt(steps).
//
//   steps     |....|....|....|....|....|      add [first, last]:  ..######|######|###...
//   blocks    pending, most, over               ends step by step, whole blocks in O(1)
//
// `over` of a block is the sum of what its steps hold above the limit; a block whose most is within
// the limit needs no look at its steps, so near a feasible plan few blocks do. Two levels beat a
// binary tree here: the sum over the limit has no lazy form in it, and blocks are scanned in order.
// Empty steps hold -infinity, which additions leave as it is. Bytes are doubles that are exact
// integers (sums stay below 2^53; see make_task_graph).
#pragma once
#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

namespace cleave::plan {

class StepProfile {
 public:
  static constexpr double empty = -std::numeric_limits<double>::infinity();

  // All steps empty. O(steps).
  void reset(size_t steps, double limit);
  // Takes these bytes for all steps at once. O(steps).
  void assign(std::vector<double> bytes);
  void set_limit(double limit);

  // Both ends included; bytes may be negative. O(sqrt(steps)).
  void add(size_t first, size_t last, double bytes);
  void set(size_t step, double bytes);

  size_t size() const { return value_.size(); }
  double limit() const { return limit_; }
  double at(size_t step) const { return value_[step] + block_[step >> shift_].pending; }
  // Sum over steps of max(0, bytes - limit).
  double over() const { return over_; }
  bool within_limit() const { return blocks_over_ == 0; }
  // O(sqrt(steps)).
  double peak() const;
  size_t peak_step() const;
  // The n-th block above the limit (n taken modulo their number), as its first step: a place to
  // look for steps above the limit. Only where not within_limit(). O(sqrt(steps)).
  size_t block_over(uint32_t n) const;
  size_t block_size() const { return size_t{1} << shift_; }

 private:
  struct Block {
    double pending = 0;  // to be added to each value
    double most = empty;
    double over = 0;
  };
  void refresh(size_t block);
  void scan_over(size_t block);
  void replace_over(Block& b, double over);

  std::vector<double> value_;
  std::vector<Block> block_;
  unsigned shift_ = 0;
  double limit_ = 0, over_ = 0;
  size_t blocks_over_ = 0;
};

}  // namespace cleave::plan
