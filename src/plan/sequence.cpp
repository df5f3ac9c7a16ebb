#include "plan/sequence.h"

#include <algorithm>

namespace cleave::plan {
namespace {

constexpr size_t longest_shift = 24;  // steps moved to make room before all are spread anew

}  // namespace

Sequence::Sequence(const TaskGraph& graph, std::span<const TaskId> steps, int64_t limit)
    : graph_(graph), first_(graph.size(), none), last_copy_(graph.size(), none) {
  copies_.reserve(steps.size());
  for (TaskId v : steps) {
    const CopyId c = new_copy(v);
    copies_[c].slot = c;
    time_ += graph[v].time;
  }
  steps_ = steps.size();
  for (CopyId c = 0; c < steps.size(); ++c) {
    const TaskId v = steps[c];
    for (TaskId x : graph_.operands(v)) copies_[last_copy_[x]].last = c;
    copies_[c].previous = last_copy_[v];
    if (last_copy_[v] == none) {
      first_[v] = c;
    } else {
      copies_[last_copy_[v]].next = c;
      copies_[c].extra_index = static_cast<uint32_t>(extra_.size());
      extra_.push_back(c);
    }
    last_copy_[v] = c;
  }
  at_.resize(steps.size());
  for (CopyId c = 0; c < steps.size(); ++c) at_[c] = c;
  profile_.reset(0, static_cast<double>(limit));
  respread();
}

std::vector<TaskId> Sequence::steps() const {
  std::vector<TaskId> out;
  out.reserve(steps_);
  for (CopyId c : at_)
    if (c != none) out.push_back(copies_[c].task);
  return out;
}

// Twice as many slots as steps, the steps evenly among them; the profile is summed up anew.
void Sequence::respread() {
  std::vector<CopyId> order;
  order.reserve(steps_);
  for (CopyId c : at_)
    if (c != none) order.push_back(c);
  profile_.reset(2 * order.size() + 2 * longest_shift, profile_.limit());
  at_.assign(profile_.size(), none);
  for (size_t i = 0; i < order.size(); ++i) {
    at_[2 * i + 1] = order[i];
    copies_[order[i]].slot = 2 * i + 1;
  }
  std::vector<double> change(at_.size() + 1, 0), bytes(at_.size(), StepProfile::empty);
  for (CopyId c : order) {
    const auto b = static_cast<double>(graph_[copies_[c].task].bytes);
    change[copies_[c].slot] += b;
    change[end_slot(c) + 1] -= b;
  }
  double live = 0;
  for (size_t s = 0; s < at_.size(); ++s) {
    live += change[s];
    if (at_[s] != none)
      bytes[s] = live + static_cast<double>(graph_[copies_[at_[s]].task].workspace);
  }
  profile_.assign(std::move(bytes));
}

size_t Sequence::end_slot(CopyId c) const {
  const Copy& copy = copies_[c];
  if (copy.next == none && graph_[copy.task].kept) return at_.size() - 1;
  return copy.last == none ? copy.slot : copies_[copy.last].slot;
}

CopyId Sequence::source(TaskId v, size_t slot) const {
  CopyId c = last_copy_[v];
  while (c != none && copies_[c].slot >= slot) c = copies_[c].previous;
  return c;
}

CopyId Sequence::step_before(size_t slot) const {
  while (slot > 0)
    if (at_[--slot] != none) return at_[slot];
  return none;
}

CopyId Sequence::step_after(size_t slot) const {
  while (++slot < at_.size())
    if (at_[slot] != none) return at_[slot];
  return none;
}

size_t Sequence::earliest_slot(TaskId v) const {
  size_t slot = 0;
  for (TaskId x : graph_.operands(v)) slot = std::max(slot, copies_[first_[x]].slot + 1);
  return slot;
}

size_t Sequence::latest_slot(TaskId v) const {
  size_t slot = at_.size();
  for (TaskId w : graph_.users(v)) slot = std::min(slot, copies_[first_[w]].slot);
  return slot - 1;
}

// --- Room -----------------------------------------------------------------------------------------

// An empty slot between `after` and the step that follows it.
size_t Sequence::gap_after(CopyId after) {
  const size_t at = after == none ? SIZE_MAX : copies_[after].slot;  // SIZE_MAX + 1 == 0
  for (size_t s = at + 1; s < at_.size() && s <= at + longest_shift; ++s)
    if (at_[s] == none) {
      shift(at + 1, s);
      return at + 1;
    }
  if (after != none)
    for (size_t s = at; s > 0 && at - s < longest_shift; --s)
      if (at_[s - 1] == none) {
        shift(at, s - 1);
        return at;
      }
  respread();
  return after == none ? 0 : copies_[after].slot + 1;
}

void Sequence::shift(size_t from, size_t to) {
  const auto take = [&](size_t target, size_t origin) {
    at_[target] = at_[origin];
    copies_[at_[target]].slot = target;
    profile_.set(target, profile_.at(origin));
  };
  for (; to > from; --to) take(to, to - 1);
  for (; to < from; ++to) take(to, to + 1);
  if (at_[from] == none) return;
  at_[from] = none;
  profile_.set(from, StepProfile::empty);
}

// Bytes that live across an empty slot: those of the step before less what ends there.
double Sequence::through(size_t slot) const {
  const CopyId before = step_before(slot);
  if (before == none) return 0;
  const TaskId v = copies_[before].task;
  const size_t at = copies_[before].slot;
  auto ends = [&](CopyId c) { return end_slot(c) == at ? graph_[copies_[c].task].bytes : 0; };
  int64_t ending = graph_[v].workspace + ends(before);
  for (TaskId x : graph_.operands(v)) ending += ends(source(x, at));
  return profile_.at(at) - static_cast<double>(ending);
}

// --- Edits ----------------------------------------------------------------------------------------

CopyId Sequence::new_copy(TaskId v) {
  if (free_.empty()) {
    copies_.emplace_back();
    free_.push_back(static_cast<CopyId>(copies_.size() - 1));
  }
  const CopyId c = free_.back();
  free_.pop_back();
  copies_[c] = Copy{};
  copies_[c].task = v;
  return c;
}

CopyId Sequence::find_last(CopyId c) const {
  const Copy& copy = copies_[c];
  const size_t bound = copy.next == none ? SIZE_MAX : copies_[copy.next].slot;
  CopyId last = none;
  size_t last_slot = copy.slot;
  for (TaskId w : graph_.users(copy.task)) {
    const CopyId r = source(w, bound);
    if (r != none && copies_[r].slot > last_slot) last = r, last_slot = copies_[r].slot;
  }
  return last;
}

// Gives the copy another last reader; the profile follows.
void Sequence::set_last(CopyId c, CopyId reader) {
  const size_t old_end = end_slot(c);
  copies_[c].last = reader;
  const size_t end = end_slot(c);
  const auto bytes = static_cast<double>(graph_[copies_[c].task].bytes);
  if (bytes == 0) return;
  if (end > old_end) profile_.add(old_end + 1, end, bytes);
  if (end < old_end) profile_.add(end + 1, old_end, -bytes);
}

void Sequence::live(CopyId c, double sign) {
  const int64_t bytes = graph_[copies_[c].task].bytes;
  if (bytes != 0) profile_.add(copies_[c].slot, end_slot(c), sign * static_cast<double>(bytes));
}

void Sequence::attach(CopyId c, size_t slot) {
  Copy& copy = copies_[c];
  const TaskId v = copy.task;
  profile_.set(slot, through(slot) + static_cast<double>(graph_[v].workspace));
  at_[slot] = c;
  ++steps_;
  copy.slot = slot;
  const CopyId before = source(v, slot);
  const CopyId after = before == none ? first_[v] : copies_[before].next;
  if (before != none && after == none && graph_[v].kept) live(before, -1);
  copy.previous = before;
  copy.next = after;
  (before == none ? first_[v] : copies_[before].next) = c;
  (after == none ? last_copy_[v] : copies_[after].previous) = c;
  if (before != none && after == none && graph_[v].kept) live(before, 1);
  for (TaskId x : graph_.operands(v)) {
    const CopyId s = source(x, slot);
    const CopyId last = copies_[s].last;
    if (last == none || copies_[last].slot < slot) set_last(s, c);
  }
  copy.last = none;
  if (before == none) {
    copy.last = find_last(c);
  } else if (const CopyId last = copies_[before].last; last != none && copies_[last].slot > slot) {
    copy.last = last;
    set_last(before, find_last(before));
  }
  live(c, 1);
}

void Sequence::detach(CopyId c) {
  const Copy copy = copies_[c];
  const TaskId v = copy.task;
  const bool tail = copy.next == none && copy.previous != none && graph_[v].kept;
  live(c, -1);
  if (tail) live(copy.previous, -1);
  (copy.previous == none ? first_[v] : copies_[copy.previous].next) = copy.next;
  (copy.next == none ? last_copy_[v] : copies_[copy.next].previous) = copy.previous;
  if (tail) live(copy.previous, 1);
  if (copy.previous != none && copy.last != none) set_last(copy.previous, copy.last);
  for (TaskId x : graph_.operands(v)) {
    const CopyId s = source(x, copy.slot);
    if (copies_[s].last == c) set_last(s, find_last(s));
  }
  at_[copy.slot] = none;
  --steps_;
  profile_.set(copy.slot, StepProfile::empty);
}

CopyId Sequence::insert_copy(TaskId v, CopyId after) {
  const size_t slot = gap_after(after);
  const CopyId c = new_copy(v);
  attach(c, slot);
  copies_[c].extra_index = static_cast<uint32_t>(extra_.size());
  extra_.push_back(c);
  time_ += graph_[v].time;
  return c;
}

void Sequence::drop_extra(CopyId c) {
  const uint32_t index = copies_[c].extra_index;
  extra_[index] = extra_.back();
  copies_[extra_[index]].extra_index = index;
  extra_.pop_back();
}

// The step that it stood behind.
CopyId Sequence::remove_copy(CopyId c) {
  const CopyId after = step_before(copies_[c].slot);
  detach(c);
  drop_extra(c);
  time_ -= graph_[copies_[c].task].time;
  return after;
}

CopyId Sequence::place(CopyId c, CopyId after) {
  const size_t slot = gap_after(after);
  const CopyId before = step_before(copies_[c].slot);
  detach(c);
  attach(c, slot);
  return before;
}

CopyId Sequence::insert(TaskId v, CopyId after) {
  const CopyId c = insert_copy(v, after);
  edits_.push_back({EditKind::insert, v, c, after});
  return c;
}

void Sequence::remove(CopyId c) {
  const TaskId v = copies_[c].task;
  edits_.push_back({EditKind::remove, v, c, remove_copy(c)});
}

bool Sequence::move(CopyId c, CopyId after) {
  const Copy& copy = copies_[c];
  if (after == c || step_before(copy.slot) == after) return false;
  // It goes behind `after`: between after's slot and the next step's.
  const size_t at = after == none ? 0 : copies_[after].slot + 1;
  const bool left = at <= copy.slot;
  if (copy.next != none && !left && at > copies_[copy.next].slot) return false;
  if (copy.previous != none) {
    if (left && at <= copies_[copy.previous].slot) return false;
  } else {
    if (left && at < earliest_slot(copy.task)) return false;
    if (!left && at > latest_slot(copy.task) + 1) return false;
  }
  edits_.push_back({EditKind::move, copy.task, c, place(c, after)});
  return true;
}

void Sequence::mark() {
  for (const Edit& e : edits_)
    if (e.kind == EditKind::remove) free_.push_back(e.copy);
  edits_.clear();
}

void Sequence::undo() {
  for (; !edits_.empty(); edits_.pop_back()) {
    const Edit& e = edits_.back();
    if (e.kind == EditKind::move) {
      place(e.copy, e.after);
    } else if (e.kind == EditKind::insert) {
      remove_copy(e.copy);
      free_.push_back(e.copy);
    } else {
      attach(e.copy, gap_after(e.after));
      copies_[e.copy].extra_index = static_cast<uint32_t>(extra_.size());
      extra_.push_back(e.copy);
      time_ += graph_[e.task].time;
    }
  }
}

}  // namespace cleave::plan
