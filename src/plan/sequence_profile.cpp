#include "plan/sequence_profile.h"

#include <algorithm>

namespace cleave::plan {

void SequenceProfile::reset(size_t size, double limit) {
  shift_ = 4;
  while ((size_t{1} << (2 * shift_)) < size) ++shift_;
  const size_t blocks = (size + block_size() - 1) >> shift_;
  value_.assign(blocks << shift_, empty);
  change_.assign((blocks << shift_) + 1, 0);
  block_.assign(blocks, {});
  waiting_.clear();
  touched_.clear();
  limit_ = limit;
  over_ = 0;
  blocks_over_ = 0;
  mark();
}

void SequenceProfile::assign(const std::vector<double>& bytes) {
  std::copy(bytes.begin(), bytes.end(), value_.begin());
  over_ = 0;
  blocks_over_ = 0;
  for (size_t b = 0; b < block_.size(); ++b) {
    block_[b] = {};
    apply_inside(b, 0);
  }
  mark();
}

// --- The way back --------------------------------------------------------------------------------

void SequenceProfile::mark() {
  settle();
  saved_.clear();
  saved_values_.clear();
  ++mark_;
  marked_over_ = over_;
  marked_blocks_over_ = blocks_over_;
}

void SequenceProfile::undo() {
  for (const size_t b : touched_) block_[b].touched = 0;
  touched_.clear();
  waiting_.clear();
  for (; !saved_.empty(); saved_.pop_back()) {
    const Saved& s = saved_.back();
    block_[s.block] = s.header;
    block_[s.block].touched = 0;
    if (s.values == SIZE_MAX) continue;
    const auto from = saved_values_.begin() + static_cast<std::ptrdiff_t>(s.values);
    std::copy_n(from, block_size(),
                value_.begin() + static_cast<std::ptrdiff_t>(s.block << shift_));
  }
  saved_values_.clear();
  over_ = marked_over_;
  blocks_over_ = marked_blocks_over_;
}

void SequenceProfile::save_header(size_t block) const {
  if (block_[block].saved_at != mark_) saved_.push_back({block, block_[block], SIZE_MAX});
}

void SequenceProfile::save_values(size_t block) const {
  Block& b = block_[block];
  if (b.saved_at == mark_) return;
  saved_.push_back({block, b, saved_values_.size()});
  b.saved_at = mark_;
  const auto from = value_.begin() + static_cast<std::ptrdiff_t>(block << shift_);
  saved_values_.insert(saved_values_.end(), from, from + static_cast<std::ptrdiff_t>(block_size()));
}

// --- Changes -------------------------------------------------------------------------------------

void SequenceProfile::touch(size_t block) const {
  if (block_[block].touched) return;
  block_[block].touched = 1;
  touched_.push_back(block);
}

void SequenceProfile::set(size_t position, double bytes) {
  if (waiting_.size() > max_waiting) apply();
  const size_t block = position >> shift_;
  save_values(block);
  touch(block);
  value_[position] = bytes - block_[block].shift - waiting_at(position);
}

void SequenceProfile::apply() const {
  for (const Range& r : waiting_) {
    change_[r.first] += r.bytes;
    change_[r.last + 1] -= r.bytes;
    touch(r.first >> shift_);
    if (const size_t after = (r.last + 1) >> shift_; after < block_.size()) touch(after);
  }
  change_.back() = 0;
  waiting_.clear();
  std::sort(touched_.begin(), touched_.end());
  double carry = 0;
  for (size_t i = 0; i < touched_.size(); ++i) {
    const size_t block = touched_[i];
    save_values(block);
    block_[block].touched = 0;
    carry = apply_inside(block, carry);
    if (carry == 0) continue;
    const size_t next = i + 1 < touched_.size() ? touched_[i + 1] : block_.size();
    for (size_t b = block + 1; b < next; ++b) {
      save_header(b);
      block_[b].shift += carry;
      block_[b].most += carry;
      if (block_[b].most > limit_ || block_[b].over > 0) scan_over(b);
    }
  }
  touched_.clear();
}

// Applies the changes in the block, starting from the carry into it; returns the carry out of it.
double SequenceProfile::apply_inside(size_t block, double carry) const {
  work_ += 2 * block_size();
  double* v = value_.data() + (block << shift_);
  double* change = change_.data() + (block << shift_);
  double even = empty, odd = empty;
  for (size_t i = 0; i < block_size(); i += 2) {
    const double first = carry + change[i];
    carry += change[i] + change[i + 1];
    change[i] = change[i + 1] = 0;
    even = std::max(even, v[i] += first);
    odd = std::max(odd, v[i + 1] += carry);
  }
  Block& b = block_[block];
  b.most = std::max(even, odd) + b.shift;
  if (b.most > limit_ || b.over > 0) scan_over(block);
  return carry;
}

void SequenceProfile::replace_over(Block& b, double over) const {
  blocks_over_ += static_cast<size_t>(over > 0) - static_cast<size_t>(b.over > 0);
  over_ = blocks_over_ == 0 ? 0 : over_ + (over - b.over);
  b.over = over;
}

void SequenceProfile::scan_over(size_t block) const {
  Block& b = block_[block];
  double over = 0;
  if (b.most > limit_) {
    work_ += block_size();
    const double* v = value_.data() + (block << shift_);
    const double bar = limit_ - b.shift;
    double sum[4] = {0, 0, 0, 0};  // so that additions don't wait for each other
    for (size_t i = 0; i < block_size(); i += 4)
      for (size_t k = 0; k < 4; ++k) sum[k] += std::max(v[i + k] - bar, 0.0);
    over = (sum[0] + sum[1]) + (sum[2] + sum[3]);
  }
  if (over != b.over) replace_over(b, over);
}

// --- Figures -------------------------------------------------------------------------------------

double SequenceProfile::peak() const {
  settle();
  double most = empty;
  for (const Block& b : block_) most = std::max(most, b.most);
  return most;
}

size_t SequenceProfile::peak_position() const {
  const double most = peak();
  for (size_t b = 0; b < block_.size(); ++b)
    if (block_[b].most == most)
      for (size_t i = b << shift_; i < (b + 1) << shift_; ++i)
        if (at(i) == most) return i;
  return 0;
}

size_t SequenceProfile::block_over(uint32_t n) const {
  settle();
  size_t left = n % blocks_over_;
  for (size_t b = 0; b < block_.size(); ++b)
    if (block_[b].over > 0 && left-- == 0) return b << shift_;
  return 0;
}

}  // namespace cleave::plan
