// Bytes in memory at each position of a sequence, with additions to ranges, and undo.
//
//   positions |....|....|....|....|....|      add [first, last]:  ..######|######|###...
//   blocks    shift, most, over                 ends one by one, whole blocks in O(1)
//
// Additions are deferred until the profile is read: those of one edit mostly cancel, and the rest
// is applied to the blocks once. `over` of a block is the sum of its positions' bytes above the
// limit; a block whose most is within the limit needs no scan of its positions. Two levels of about
// sqrt(n) are faster than a binary tree here: the sum over the limit can't be updated lazily in a
// tree, and blocks are scanned in order. Empty positions hold -infinity, which additions leave
// unchanged. Bytes are doubles that are exact integers (sums stay below 2^53; see make_task_graph).
#pragma once
#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

namespace cleave::plan {

class SequenceProfile {
 public:
  static constexpr double empty = -std::numeric_limits<double>::infinity();

  // Makes all positions empty, and discards the undo state. O(size).
  void reset(size_t size, double limit);
  // Sets the bytes of all positions at once. O(n).
  void assign(const std::vector<double>& bytes);

  // Both ends are included; bytes may be negative.
  void add(size_t first, size_t last, double bytes) {
    if (bytes != 0) waiting_.push_back({first, last, bytes});
  }
  void set(size_t position, double bytes);

  // undo() reverts the changes since mark().
  void mark();
  void undo();

  size_t size() const { return value_.size(); }
  double limit() const { return limit_; }
  double at(size_t position) const {
    if (waiting_.size() > max_waiting) apply();
    return value_[position] + block_[position >> shift_].shift + waiting_at(position);
  }
  // Sum over positions of max(0, bytes - limit). These are O(sqrt(n) + additions) after an edit.
  double over() const { return settle(), over_; }
  bool within_limit() const { return settle(), blocks_over_ == 0; }
  double peak() const;
  size_t peak_position() const;
  // The first position of the n-th block above the limit (n taken modulo their number): a place to
  // look for positions above the limit. Precondition: not within_limit().
  size_t block_over(uint32_t n) const;
  // The number of positions scanned so far.
  uint64_t work() const { return work_; }
  size_t block_size() const { return size_t{1} << shift_; }

 private:
  static constexpr size_t max_waiting = 8;  // scanned when one position is read

  struct Range {
    size_t first, last;
    double bytes;
  };
  struct Block {
    double shift = 0;  // to be added to each value
    double most = empty;
    double over = 0;
    uint32_t touched = 0;   // since the last settle()
    uint64_t saved_at = 0;  // the mark for which its values are saved
  };
  struct Saved {
    size_t block;
    Block header;
    size_t values;  // in saved_values_, or SIZE_MAX
  };

  double waiting_at(size_t position) const {
    double bytes = 0;
    for (const Range& r : waiting_)
      if (r.first <= position && position <= r.last) bytes += r.bytes;
    return bytes;
  }
  void settle() const {
    if (!waiting_.empty() || !touched_.empty()) apply();
  }
  void apply() const;
  void touch(size_t block) const;
  void save_header(size_t block) const;
  void save_values(size_t block) const;
  double apply_inside(size_t block, double carry) const;
  void scan_over(size_t block) const;
  void replace_over(Block& b, double over) const;

  // State that reading the profile updates.
  mutable std::vector<double> value_, change_;  // change_: value_ minus that of the position before
  mutable std::vector<Block> block_;
  mutable std::vector<Range> waiting_;
  mutable std::vector<size_t> touched_;  // blocks
  mutable std::vector<Saved> saved_;
  mutable std::vector<double> saved_values_;
  mutable double over_ = 0;
  mutable size_t blocks_over_ = 0;
  mutable uint64_t work_ = 0;
  unsigned shift_ = 0;
  double limit_ = 0, marked_over_ = 0;
  size_t marked_blocks_over_ = 0;
  uint64_t mark_ = 1;
};

}  // namespace cleave::plan
