#include "plan/offsets_floors.h"

#include <algorithm>
#include <limits>

namespace cleave::plan {
namespace {

constexpr int64_t infinite = std::numeric_limits<int64_t>::max();

}  // namespace

Floors::Floors(const OffsetProblem& p, int64_t capacity)
    : p_(p), capacity_(capacity), floor_(p.total.size()), rest_(p.total), lowest_(p.size()),
      placed_(p.size()), marked_(p.total.size()), crossing_(p.total.size()),
      alive_(p.total.size()) {
  for (uint32_t i = 0; i < p.size(); ++i) {
    const OffsetProblem::Buffer& b = p.buffers[i];
    for (int32_t s = b.first; s < b.last; ++s) alive_[at(s)].push_back(i);
    for (int32_t s = b.first; s + 1 < b.last; ++s) ++crossing_[at(s)];
    work += 8 * (b.last - b.first);
  }
}

void Floors::set(int64_t& where, int64_t value) {
  trail_.push_back({&where, where});
  where = value;
}

void Floors::undo_to(size_t changes) {
  while (trail_.size() > changes) {
    *trail_.back().where = trail_.back().before;
    trail_.pop_back();
  }
}

void Floors::mark(int32_t s) {
  if (marked_[at(s)]) return;
  marked_[at(s)] = true;
  queue_.push_back(s);
}

void Floors::raise(uint32_t i, int64_t lowest) {
  set(lowest_[i], lowest);
  const OffsetProblem::Buffer& b = p_.buffers[i];
  for (int32_t s = b.first; s < b.last; ++s) mark(s);
  work += 2 * (b.last - b.first);
}

bool Floors::settle() {
  bool fits = true;
  while (!queue_.empty()) {
    const int32_t s = queue_.back();
    queue_.pop_back();
    marked_[at(s)] = false;
    if (fits && rest_[at(s)] > 0) fits = settle_section(s);
  }
  return fits;
}

bool Floors::settle_section(int32_t s) {
  const int64_t floor = floor_[at(s)], rest = rest_[at(s)];
  if (floor + rest > capacity_) return false;
  auto& order = by_lowest_;
  order.clear();
  for (uint32_t j : alive_[at(s)]) {
    if (placed_[j]) continue;
    if (lowest_[j] < floor) raise(j, floor);
    order.push_back({lowest_[j], j});
  }
  work += static_cast<int64_t>(4 * alive_[at(s)].size() + 20 * order.size());
  std::sort(order.begin(), order.end());
  int64_t end = 0, first_end = infinite;
  for (const auto& [lowest, j] : order) {
    const int64_t size = p_.buffers[j].size;
    end = std::max(end, lowest) + size;
    if (lowest + rest <= capacity_)
      first_end = std::min(first_end, lowest + size);
    else if (lowest < first_end)
      raise(j, first_end);
  }
  if (order.front().first > floor) set(floor_[at(s)], order.front().first);
  return end <= capacity_ && first_end < infinite;
}

bool Floors::start() {
  for (int32_t s = 0; s < p_.sections(); ++s) mark(s);
  return settle();
}

bool Floors::place(uint32_t i) {
  const OffsetProblem::Buffer& b = p_.buffers[i];
  placed_[i] = true;
  for (int32_t s = b.first; s + 1 < b.last; ++s) --crossing_[at(s)];
  for (int32_t s = b.first; s < b.last; ++s) {
    set(floor_[at(s)], lowest_[i] + b.size);
    set(rest_[at(s)], rest_[at(s)] - b.size);
    mark(s);
  }
  work += 8 * (b.last - b.first);
  return settle();
}

void Floors::take_back(uint32_t i) {
  const OffsetProblem::Buffer& b = p_.buffers[i];
  placed_[i] = false;
  for (int32_t s = b.first; s + 1 < b.last; ++s) ++crossing_[at(s)];
}

bool Floors::lift(int32_t s) {
  const int64_t floor = floor_[at(s)];
  const auto lifted = [&](uint32_t j) {
    const OffsetProblem::Buffer& b = p_.buffers[j];
    return !placed_[j] && lowest_[j] == floor && b.first <= s && s < b.last;
  };
  // What the lifted buffers can be placed on: one of the others, or a lifted one on top of such.
  struct Lift {
    uint32_t buffer;
    int64_t to;
  };
  std::vector<Lift> lifts;
  int64_t least = infinite;
  for (uint32_t i : alive_[at(s)]) {
    if (!lifted(i)) continue;
    const OffsetProblem::Buffer& b = p_.buffers[i];
    int64_t to = infinite;
    for (int32_t t = b.first; t < b.last; ++t) {
      for (uint32_t j : alive_[at(t)])
        if (!placed_[j] && !lifted(j)) to = std::min(to, lowest_[j] + p_.buffers[j].size);
      work += static_cast<int64_t>(2 * alive_[at(t)].size());
    }
    lifts.push_back({i, to});
    least = std::min(least, to);
  }
  if (least == infinite) return false;
  for (const Lift& l : lifts) {
    int64_t to = l.to;
    for (const Lift& other : lifts)
      if (other.buffer != l.buffer) to = std::min(to, least + p_.buffers[other.buffer].size);
    raise(l.buffer, to);
  }
  return settle();
}

}  // namespace cleave::plan
