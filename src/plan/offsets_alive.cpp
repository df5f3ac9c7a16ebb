#include "plan/offsets_alive.h"

#include <utility>

namespace cleave::plan {

AliveLists::AliveLists(const OffsetProblem& p)
    : p_(p), placed_(p.size()), crossing_(p.total.size()), begin_(p.total.size() + 1),
      unplaced_(p.total.size()), first_begin_(p.total.size() + 1), last_begin_(p.total.size() + 1) {
  for (const OffsetProblem::Buffer& b : p.buffers) {
    slots_.push_back(slot_.size());
    slot_.resize(slot_.size() + at(b.last - b.first));
    for (int32_t s = b.first; s < b.last; ++s) ++begin_[at(s) + 1];
    for (int32_t s = b.first; s + 1 < b.last; ++s) ++crossing_[at(s)];
    ++first_begin_[at(b.first) + 1];
    ++last_begin_[at(b.last)];
  }
  for (size_t s = 0; s < unplaced_.size(); ++s) {
    begin_[s + 1] += begin_[s];
    first_begin_[s + 1] += first_begin_[s];
    last_begin_[s + 1] += last_begin_[s];
  }
  alive_.resize(slot_.size());
  first_in_.resize(p.size());
  last_in_.resize(p.size());
  std::vector<size_t> first_end = first_begin_, last_end = last_begin_;
  for (uint32_t i = 0; i < p.size(); ++i) {
    const OffsetProblem::Buffer& b = p.buffers[i];
    first_in_[first_end[at(b.first)]++] = i;
    last_in_[last_end[at(b.last) - 1]++] = i;
    for (int32_t s = b.first; s < b.last; ++s) {
      const size_t k = begin_[at(s)] + unplaced_[at(s)]++;
      alive_[k] = i;
      slot_[slots_[i] + at(s - b.first)] = static_cast<uint32_t>(k);
    }
  }
}

void AliveLists::place(uint32_t i) {
  const OffsetProblem::Buffer& b = p_.buffers[i];
  placed_[i] = true;
  for (int32_t s = b.first; s + 1 < b.last; ++s) --crossing_[at(s)];
  for (int32_t s = b.first; s < b.last; ++s) {
    uint32_t& slot = slot_[slots_[i] + at(s - b.first)];
    const auto last = static_cast<uint32_t>(begin_[at(s)] + --unplaced_[at(s)]);
    const uint32_t other = alive_[last];
    std::swap(alive_[slot], alive_[last]);
    slot_[slots_[other] + at(s - p_.buffers[other].first)] = slot;
    slot = last;
  }
}

void AliveLists::take_back(uint32_t i) {
  const OffsetProblem::Buffer& b = p_.buffers[i];
  placed_[i] = false;
  for (int32_t s = b.first; s + 1 < b.last; ++s) ++crossing_[at(s)];
  for (int32_t s = b.first; s < b.last; ++s) ++unplaced_[at(s)];
}

}  // namespace cleave::plan
