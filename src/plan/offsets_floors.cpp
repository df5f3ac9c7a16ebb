#include "plan/offsets_floors.h"

#include <algorithm>

namespace cleave::plan {

Floors::Floors(const OffsetProblem& p, int64_t capacity)
    : p_(p), capacity_(capacity), alive_(p), floor_(p.total.size()), rest_(p.total),
      lowest_(p.size()), failures_(p.total.size()), marked_(p.total.size()),
      marked_border_(p.total.size()) {
  for (const OffsetProblem::Buffer& b : p.buffers) work += 8 * (b.last - b.first);
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

void Floors::mark_border(int32_t s) {
  if (s < 0 || s + 1 >= p_.sections() || marked_border_[at(s)]) return;
  marked_border_[at(s)] = true;
  borders_.push_back(s);
}

void Floors::raise(uint32_t i, int64_t lowest) {
  set(lowest_[i], lowest);
  const OffsetProblem::Buffer& b = p_.buffers[i];
  for (int32_t s = b.first; s < b.last; ++s) mark(s);
  work += 2 * (b.last - b.first);
}

// First come, first served, so that a section is settled once for many changes; borders last.
bool Floors::settle() {
  bool fits = true;
  for (size_t next = 0; next < queue_.size() || !borders_.empty();) {
    const bool border = next == queue_.size();
    const int32_t s = border ? borders_.back() : queue_[next];
    (border ? marked_border_ : marked_)[at(s)] = false;
    if (border)
      borders_.pop_back();
    else
      ++next;
    if (!fits || rest_[at(s)] == 0) continue;
    fits = border ? settle_border(s) : settle_section(s);
    failures_[at(s)] += !fits;
  }
  queue_.clear();
  return fits;
}

bool Floors::settle_section(int32_t s) {
  const int64_t floor = floor_[at(s)];
  if (slack(s) < 0) return false;
  int64_t least = infinite, most = 0;
  for (const uint32_t j : alive_.unplaced(s)) {
    if (lowest_[j] < floor) raise(j, floor);
    least = std::min(least, lowest_[j]);
    most = std::max(most, lowest_[j]);
  }
  work += static_cast<int64_t>(4 * alive_.unplaced(s).size());
  const bool fits = most + rest_[at(s)] <= capacity_ || fits_late(s);
  if (least > floor) {
    set(floor_[at(s)], least);
    mark_border(s - 1);
    mark_border(s);
  }
  return fits;
}

// Space and not first, of those that can't be first: no others can be too high.
bool Floors::fits_late(int32_t s) {
  const int64_t rest = rest_[at(s)];
  int64_t first_end = infinite;
  late_.clear();
  for (const uint32_t j : alive_.unplaced(s)) {
    if (lowest_[j] + rest > capacity_)
      late_.push_back({lowest_[j], j});
    else
      first_end = std::min(first_end, lowest_[j] + p_.buffers[j].size);
  }
  work += static_cast<int64_t>(2 * alive_.unplaced(s).size() + 8 * late_.size());
  if (first_end == infinite) return false;
  for (auto& [lowest, j] : late_)
    if (lowest < first_end) raise(j, lowest = first_end);
  std::sort(late_.begin(), late_.end());
  int64_t above = 0;
  for (size_t k = late_.size(); k-- > 0;) {
    above += p_.buffers[late_[k].second].size;
    if (late_[k].first + above > capacity_) return false;
  }
  return true;
}

bool Floors::start() {
  for (int32_t s = 0; s < p_.sections(); ++s) mark(s);
  return settle();
}

bool Floors::place(uint32_t i) {
  const OffsetProblem::Buffer& b = p_.buffers[i];
  alive_.place(i);
  mark_border(b.first - 1);
  for (int32_t s = b.first; s < b.last; ++s) {
    set(floor_[at(s)], lowest_[i] + b.size);
    set(rest_[at(s)], rest_[at(s)] - b.size);
    mark(s);
    mark_border(s);
  }
  work += 8 * (b.last - b.first);
  return settle();
}

bool Floors::lift(int32_t s) {
  const int64_t floor = floor_[at(s)];
  const auto lifted = [&](uint32_t j) {
    const OffsetProblem::Buffer& b = p_.buffers[j];
    return lowest_[j] == floor && b.first <= s && s < b.last;
  };
  // What the lifted buffers can be placed on: one of the others, or a lifted one on top of such.
  struct Lift {
    uint32_t buffer;
    int64_t to;
  };
  std::vector<Lift> lifts;
  int32_t begin = s, end = s + 1;
  for (const uint32_t i : alive_.unplaced(s)) {
    if (!lifted(i)) continue;
    lifts.push_back({i, infinite});
    begin = std::min(begin, p_.buffers[i].first);
    end = std::max(end, p_.buffers[i].last);
  }
  const auto put_on = [&](uint32_t j) {
    const OffsetProblem::Buffer& b = p_.buffers[j];
    if (alive_.placed(j) || lifted(j)) return;
    for (Lift& l : lifts)
      if (p_.buffers[l.buffer].first < b.last && b.first < p_.buffers[l.buffer].last)
        l.to = std::min(l.to, lowest_[j] + b.size);
    work += static_cast<int64_t>(lifts.size());
  };
  for (const uint32_t j : alive_.unplaced(begin)) put_on(j);
  for (int32_t t = begin + 1; t < end; ++t)
    for (const uint32_t j : alive_.first_in(t)) put_on(j);
  int64_t least = infinite;
  for (const Lift& l : lifts) least = std::min(least, l.to);
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
