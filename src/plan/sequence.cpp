#include "plan/sequence.h"

#include <algorithm>

namespace cleave::plan {
namespace {

constexpr size_t room = 4;            // slots for each copy
constexpr size_t longest_shift = 24;  // copies moved to make room before all are spread out again

}  // namespace

Sequence::Sequence(const TaskGraph& graph, std::span<const TaskId> tasks, int64_t limit)
    : graph_(graph), first_(graph.size(), none), last_copy_(graph.size(), none) {
  for (TaskId v = 0; v < graph.size(); ++v)
    most_values_ = std::max<size_t>(most_values_, graph.made_by(v).size());
  copies_.reserve(tasks.size());
  last_.reserve(tasks.size() * most_values_);
  for (TaskId v : tasks) {
    const CopyId c = new_copy(v);
    copies_[c].slot = c;
    time_ += graph[v].time;
  }
  runs_ = tasks.size();
  for (CopyId c = 0; c < tasks.size(); ++c) {
    const TaskId v = tasks[c];
    for (TaskId x : graph_.operands(v)) {
      const CopyId read = last_copy_[graph.maker(x)];
      last_[last_index(read, x)] = c;
    }
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
  at_.resize(tasks.size());
  for (CopyId c = 0; c < tasks.size(); ++c) at_[c] = c;
  profile_.reset(0, static_cast<double>(limit));
  respread();
  mark();
}

std::vector<TaskId> Sequence::tasks() const {
  std::vector<TaskId> out;
  out.reserve(runs_);
  for (CopyId c : at_)
    if (c != none) out.push_back(copies_[c].task);
  return out;
}

// Spreads the copies evenly, with `room` slots for each, and recomputes the profile.
void Sequence::respread() {
  work_ += at_.size();
  std::vector<CopyId> order;
  order.reserve(runs_);
  for (CopyId c : at_)
    if (c != none) order.push_back(c);
  profile_.reset(room * order.size() + 2 * longest_shift, profile_.limit());
  at_.assign(profile_.size(), none);
  for (size_t i = 0; i < order.size(); ++i) {
    at_[room * i + room / 2] = order[i];
    copies_[order[i]].slot = static_cast<uint32_t>(room * i + room / 2);
  }
  std::vector<double> change(at_.size() + 1, 0), bytes(at_.size(), SequenceProfile::empty);
  for (CopyId c : order) {
    for (const ValueId x : graph_.made_by(copies_[c].task)) {
      const auto b = static_cast<double>(graph_.values[x].bytes);
      change[copies_[c].slot] += b;
      change[end_slot(c, x)] -= b;
    }
  }
  double live = 0;
  for (size_t s = 0; s < at_.size(); ++s) {
    live += change[s];
    if (at_[s] != none)
      bytes[s] = live + static_cast<double>(graph_[copies_[at_[s]].task].workspace);
  }
  profile_.assign(bytes);
  crowded_ = SIZE_MAX;
}

size_t Sequence::end_slot(CopyId c, ValueId x) const {
  const Value& value = graph_.values[x];
  if (value.kept && copies_[c].next == none) return at_.size();
  const CopyId reader = last(c, x);
  if (reader != none) return copies_[reader].slot + size_t{1};
  return copies_[c].slot + size_t{!value.optional};
}

CopyId Sequence::source(TaskId v, size_t slot) const {
  CopyId c = last_copy_[v];
  while (c != none && copies_[c].slot >= slot) c = copies_[c].previous;
  return c;
}

CopyId Sequence::copy_before(size_t slot) const {
  while (slot > 0)
    if (at_[--slot] != none) return at_[slot];
  return none;
}

CopyId Sequence::copy_after(size_t slot) const {
  while (++slot < at_.size())
    if (at_[slot] != none) return at_[slot];
  return none;
}

size_t Sequence::earliest_slot(TaskId v) const {
  size_t slot = 0;
  for (TaskId u : graph_.before(v)) slot = std::max<size_t>(slot, copies_[first_[u]].slot + 1);
  return slot;
}

size_t Sequence::latest_slot(TaskId v) const {
  size_t slot = at_.size();
  for (TaskId w : graph_.after(v)) slot = std::min<size_t>(slot, copies_[first_[w]].slot);
  return slot - 1;
}

// --- The trail -----------------------------------------------------------------------------------

uint32_t& Sequence::word(Field field, uint32_t index) {
  switch (field) {
    case Field::slot: return copies_[index].slot;
    case Field::previous: return copies_[index].previous;
    case Field::next: return copies_[index].next;
    case Field::extra_index: return copies_[index].extra_index;
    case Field::last: return last_[index];
    case Field::at: return at_[index];
    case Field::first: return first_[index];
    case Field::last_copy: return last_copy_[index];
    default: return extra_[index];
  }
}

void Sequence::grow_extra(CopyId c) {
  put(copies_[c].extra_index, Field::extra_index, c, static_cast<uint32_t>(extra_.size()));
  extra_.push_back(c);
  trail_.push_back({Field::extra_grown, 0, 0});
}

void Sequence::cut_extra(CopyId c) {
  const uint32_t index = copies_[c].extra_index;
  put(copies_[extra_.back()].extra_index, Field::extra_index, extra_.back(), index);
  put(extra_[index], Field::extra, index, extra_.back());
  trail_.push_back({Field::extra_cut, 0, extra_.back()});
  extra_.pop_back();
}

void Sequence::run_back() {
  for (; !trail_.empty(); trail_.pop_back()) {
    const Overwritten& o = trail_.back();
    if (o.field == Field::extra_grown)
      extra_.pop_back();
    else if (o.field == Field::extra_cut)
      extra_.push_back(o.value);
    else
      word(o.field, o.index) = o.value;
  }
}

void Sequence::mark() {
  if (crowded_ != SIZE_MAX) make_room(crowded_);
  free_.insert(free_.end(), removed_.begin(), removed_.end());
  removed_.clear();
  made_.clear();
  trail_.clear();
  snapshot_.reset();
  profile_.mark();
  marked_time_ = time_;
  marked_runs_ = runs_;
}

void Sequence::undo() {
  if (snapshot_) {
    const size_t copies = copies_.size();  // their numbers stay in use
    profile_ = std::move(snapshot_->profile);
    copies_ = std::move(snapshot_->copies);
    copies_.resize(copies);
    last_ = std::move(snapshot_->last);
    last_.resize(copies * most_values_, none);
    at_ = std::move(snapshot_->at);
    first_ = std::move(snapshot_->first);
    last_copy_ = std::move(snapshot_->last_copy);
    extra_ = std::move(snapshot_->extra);
    trail_.resize(snapshot_->trail);
    snapshot_.reset();
    crowded_ = SIZE_MAX;
  }
  run_back();
  profile_.undo();
  free_.insert(free_.end(), made_.rbegin(), made_.rend());
  made_.clear();
  removed_.clear();
  time_ = marked_time_;
  runs_ = marked_runs_;
}

// --- Room ----------------------------------------------------------------------------------------

// Words overwritten after this need no trail: undo() restores the snapshot.
void Sequence::take_snapshot() {
  if (!snapshot_)
    snapshot_ = Snapshot{profile_, copies_, last_, at_, first_, last_copy_, extra_, trail_.size()};
}

// Spreads the copies around a slot evenly over a stretch that has room; all copies if none has.
void Sequence::make_room(size_t slot) {
  crowded_ = SIZE_MAX;
  for (size_t width = 4 * longest_shift; width < at_.size(); width *= 2) {
    const size_t begin = std::min(slot - std::min(slot, width / 2), at_.size() - width);
    std::vector<std::pair<CopyId, double>> moved;
    for (size_t s = begin; s < begin + width; ++s)
      if (at_[s] != none) moved.emplace_back(at_[s], profile_.at(s));
    if (moved.size() * 5 > width * 3) continue;
    for (size_t s = begin; s < begin + width; ++s) {
      if (at_[s] != none) profile_.set(s, SequenceProfile::empty);
      if (at_[s] != none) put_at(s, none);
    }
    for (size_t i = 0; i < moved.size(); ++i) {
      const size_t s = begin + (2 * i + 1) * width / (2 * moved.size());
      put_at(s, moved[i].first);
      put_slot(moved[i].first, s);
      profile_.set(s, moved[i].second);
    }
    return;
  }
  take_snapshot();
  respread();
}

// Returns an empty slot between `after` and the copy that follows it.
size_t Sequence::gap_after(CopyId after) {
  const size_t at = after == none ? SIZE_MAX : copies_[after].slot;  // SIZE_MAX + 1 == 0
  const size_t end = std::min(at_.size(), at + 1 + longest_shift);
  for (size_t s = at + 1; s < end; ++s) {
    if (at_[s] != none) continue;
    if (s == at + 1) {  // halfway to the next copy, to leave room on both sides
      while (s + 1 < end && s < at + 2 * room && at_[s + 1] == none) ++s;
      return at + 1 + (s - at - 1) / 2;
    }
    if (s > at + longest_shift / 2) crowded_ = s;
    shift(at + 1, s);
    return at + 1;
  }
  if (after != none)
    for (size_t s = at; s > 0 && at - s < longest_shift; --s)
      if (at_[s - 1] == none) {
        crowded_ = s;
        shift(at, s - 1);
        return at;
      }
  make_room(after == none ? 0 : at);
  return gap_after(after);
}

void Sequence::shift(size_t from, size_t to) {
  const auto take = [&](size_t target, size_t origin) {
    put_at(target, at_[origin]);
    put_slot(at_[target], target);
    profile_.set(target, profile_.at(origin));
  };
  for (; to > from; --to) take(to, to - 1);
  for (; to < from; ++to) take(to, to + 1);
  if (at_[from] == none) return;
  put_at(from, none);
  profile_.set(from, SequenceProfile::empty);
}

// Bytes that live across an empty slot: those of the copy before minus those that end there.
double Sequence::through(size_t slot) const {
  const CopyId before = copy_before(slot);
  if (before == none) return 0;
  const TaskId v = copies_[before].task;
  const size_t at = copies_[before].slot;
  const auto ends = [&](CopyId c, ValueId x) {
    return end_slot(c, x) == at + 1 ? graph_.values[x].bytes : 0;
  };
  int64_t ending = graph_[v].workspace;
  for (const ValueId x : graph_.made_by(v)) ending += ends(before, x);
  for (const ValueId x : graph_.operands(v)) ending += ends(source(graph_.maker(x), at), x);
  return profile_.at(at) - static_cast<double>(ending);
}

// --- Edits ---------------------------------------------------------------------------------------

CopyId Sequence::new_copy(TaskId v) {
  if (free_.empty()) {
    copies_.emplace_back();
    last_.resize(copies_.size() * most_values_);
    free_.push_back(static_cast<CopyId>(copies_.size() - 1));
  }
  const CopyId c = free_.back();
  free_.pop_back();
  made_.push_back(c);
  copies_[c] = Copy{};
  copies_[c].task = v;
  std::fill_n(last_.begin() + static_cast<std::ptrdiff_t>(c * most_values_), most_values_, none);
  return c;
}

CopyId Sequence::find_last(CopyId c, ValueId x) const {
  const Copy& copy = copies_[c];
  const size_t bound = copy.next == none ? SIZE_MAX : copies_[copy.next].slot;
  CopyId last = none;
  size_t last_slot = copy.slot;
  for (TaskId w : graph_.users(x)) {
    const CopyId r = source(w, bound);
    if (r != none && copies_[r].slot > last_slot) last = r, last_slot = copies_[r].slot;
  }
  return last;
}

// Sets the last reader of the copy's value x and updates the profile.
void Sequence::set_last(CopyId c, ValueId x, CopyId reader) {
  const size_t old_end = end_slot(c, x);
  put_last(c, x, reader);
  const size_t end = end_slot(c, x);
  const auto bytes = static_cast<double>(graph_.values[x].bytes);
  if (bytes == 0) return;
  if (end > old_end) profile_.add(old_end, end - 1, bytes);
  if (end < old_end) profile_.add(end, old_end - 1, -bytes);
}

void Sequence::live(CopyId c, ValueId x, double sign) {
  const int64_t bytes = graph_.values[x].bytes;
  const size_t begin = copies_[c].slot, end = end_slot(c, x);
  if (bytes != 0 && begin < end) profile_.add(begin, end - 1, sign * static_cast<double>(bytes));
}

void Sequence::live_kept(CopyId c, double sign) {
  for (const ValueId x : graph_.made_by(copies_[c].task))
    if (graph_.values[x].kept) live(c, x, sign);
}

void Sequence::attach(CopyId c, size_t slot) {
  const TaskId v = copies_[c].task;
  profile_.set(slot, through(slot) + static_cast<double>(graph_[v].workspace));
  put_at(slot, c);
  put_slot(c, slot);
  ++runs_;
  const CopyId before = source(v, slot);
  const CopyId after = before == none ? first_[v] : copies_[before].next;
  const bool tail = before != none && after == none && graph_[v].kept;
  if (tail) live_kept(before, -1);
  put(copies_[c].previous, Field::previous, c, before);
  put(copies_[c].next, Field::next, c, after);
  before == none ? put(first_[v], Field::first, v, c)
                 : put(copies_[before].next, Field::next, before, c);
  after == none ? put(last_copy_[v], Field::last_copy, v, c)
                : put(copies_[after].previous, Field::previous, after, c);
  if (tail) live_kept(before, 1);
  for (const ValueId x : graph_.operands(v)) {
    const CopyId s = source(graph_.maker(x), slot);
    const CopyId reader = last(s, x);
    if (reader == none || copies_[reader].slot < slot) set_last(s, x, c);
  }
  for (const ValueId x : graph_.made_by(v)) {
    CopyId reader = none;
    if (before == none) {
      reader = find_last(c, x);
    } else if (const CopyId l = last(before, x); l != none && copies_[l].slot > slot) {
      reader = l;
      set_last(before, x, find_last(before, x));
    }
    put_last(c, x, reader);
    live(c, x, 1);
  }
}

void Sequence::detach(CopyId c) {
  const Copy copy = copies_[c];
  const TaskId v = copy.task;
  const bool tail = copy.next == none && copy.previous != none && graph_[v].kept;
  for (const ValueId x : graph_.made_by(v)) live(c, x, -1);
  if (tail) live_kept(copy.previous, -1);
  copy.previous == none ? put(first_[v], Field::first, v, copy.next)
                        : put(copies_[copy.previous].next, Field::next, copy.previous, copy.next);
  copy.next == none ? put(last_copy_[v], Field::last_copy, v, copy.previous)
                    : put(copies_[copy.next].previous, Field::previous, copy.next, copy.previous);
  if (tail) live_kept(copy.previous, 1);
  if (copy.previous != none)
    for (const ValueId x : graph_.made_by(v))
      if (const CopyId reader = last(c, x); reader != none) set_last(copy.previous, x, reader);
  for (const ValueId x : graph_.operands(v)) {
    const CopyId s = source(graph_.maker(x), copy.slot);
    if (last(s, x) == c) set_last(s, x, find_last(s, x));
  }
  put_at(copy.slot, none);
  --runs_;
  profile_.set(copy.slot, SequenceProfile::empty);
}

CopyId Sequence::insert(TaskId v, CopyId after) {
  const size_t slot = gap_after(after);
  const CopyId c = new_copy(v);
  attach(c, slot);
  grow_extra(c);
  time_ += graph_[v].time;
  return c;
}

void Sequence::remove(CopyId c) {
  detach(c);
  cut_extra(c);
  removed_.push_back(c);
  time_ -= graph_[copies_[c].task].time;
}

bool Sequence::move(CopyId c, CopyId after) {
  const Copy& copy = copies_[c];
  if (after == c || copy_before(copy.slot) == after) return false;
  // The copy goes between after's slot and the next copy's.
  const size_t at = after == none ? 0 : copies_[after].slot + 1;
  const bool left = at <= copy.slot;
  if (copy.next != none && !left && at > copies_[copy.next].slot) return false;
  if (copy.previous != none) {
    if (left && at <= copies_[copy.previous].slot) return false;
  } else {
    if (left && at < earliest_slot(copy.task)) return false;
    if (!left && at > latest_slot(copy.task) + 1) return false;
  }
  const size_t slot = gap_after(after);
  detach(c);
  attach(c, slot);
  return true;
}

}  // namespace cleave::plan
