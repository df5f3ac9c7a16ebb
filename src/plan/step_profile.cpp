#include "plan/step_profile.h"

#include <algorithm>

namespace cleave::plan {

void StepProfile::reset(size_t steps, double limit) {
  shift_ = 4;
  while ((size_t{1} << (2 * shift_)) < steps) ++shift_;
  const size_t blocks = (steps + block_size() - 1) >> shift_;
  value_.assign(blocks << shift_, empty);
  block_.assign(blocks, {});
  limit_ = limit;
  over_ = 0;
  blocks_over_ = 0;
}

void StepProfile::assign(std::vector<double> bytes) {
  bytes.resize(value_.size(), empty);
  value_ = std::move(bytes);
  block_.assign(block_.size(), {});
  over_ = 0;
  blocks_over_ = 0;
  for (size_t b = 0; b < block_.size(); ++b) refresh(b);
}

void StepProfile::set_limit(double limit) {
  limit_ = limit;
  for (size_t b = 0; b < block_.size(); ++b) scan_over(b);
}

void StepProfile::replace_over(Block& b, double over) {
  blocks_over_ += static_cast<size_t>(over > 0) - static_cast<size_t>(b.over > 0);
  over_ = blocks_over_ == 0 ? 0 : over_ + (over - b.over);
  b.over = over;
}

void StepProfile::scan_over(size_t block) {
  Block& b = block_[block];
  double over = 0;
  if (b.most > limit_) {
    const double* v = value_.data() + (block << shift_);
    const double bar = limit_ - b.pending;
    double other = 0;  // two sums, so that additions don't wait for each other
    for (size_t i = 0; i < block_size(); i += 2) {
      over += std::max(v[i] - bar, 0.0);
      other += std::max(v[i + 1] - bar, 0.0);
    }
    over += other;
  }
  if (over != b.over) replace_over(b, over);
}

void StepProfile::refresh(size_t block) {
  Block& b = block_[block];
  const double* v = value_.data() + (block << shift_);
  double even = empty, odd = empty;
  for (size_t i = 0; i < block_size(); i += 2) {
    even = std::max(even, v[i]);
    odd = std::max(odd, v[i + 1]);
  }
  b.most = std::max(even, odd) + b.pending;
  scan_over(block);
}

void StepProfile::add(size_t first, size_t last, double bytes) {
  const size_t from = first >> shift_, to = last >> shift_;
  if (from == to) {
    for (size_t i = first; i <= last; ++i) value_[i] += bytes;
    refresh(from);
    return;
  }
  for (size_t i = first; i < (from + 1) << shift_; ++i) value_[i] += bytes;
  refresh(from);
  for (size_t b = from + 1; b < to; ++b) {
    block_[b].pending += bytes;
    block_[b].most += bytes;
    if (block_[b].most > limit_ || block_[b].over > 0) scan_over(b);
  }
  for (size_t i = to << shift_; i <= last; ++i) value_[i] += bytes;
  refresh(to);
}

void StepProfile::set(size_t step, double bytes) {
  const size_t block = step >> shift_;
  value_[step] = bytes - block_[block].pending;
  refresh(block);
}

double StepProfile::peak() const {
  double most = empty;
  for (const Block& b : block_) most = std::max(most, b.most);
  return most;
}

size_t StepProfile::peak_step() const {
  const double most = peak();
  for (size_t b = 0; b < block_.size(); ++b)
    if (block_[b].most == most)
      for (size_t i = b << shift_; i < (b + 1) << shift_; ++i)
        if (at(i) == most) return i;
  return 0;
}

size_t StepProfile::block_over(uint32_t n) const {
  size_t left = n % blocks_over_;
  for (size_t b = 0; b < block_.size(); ++b)
    if (block_[b].over > 0 && left-- == 0) return b << shift_;
  return 0;
}

}  // namespace cleave::plan
