// An editable sequence with copies, whose memory at each position is kept up to date.
//
//   slots      [a][b][ ][c][a'][ ][d]...     copies in order, with room between them
//   copies     a: first a, then a';  each knows the last reader of each of its values
//
// A sequence is valid if and only if the first copies of all tasks are in an order that respects
// the links: any later copy is after its own first one, hence after its operands'. So later copies
// may be inserted anywhere after their first one, and removed, without further checks. An edit
// costs O(operands x users x copies), and reading the profile after it O(sqrt(slots)). Every word
// that an edit overwrites is recorded in a trail, which undo() rolls back to the last mark().
#pragma once
#include <optional>

#include "plan/sequence_profile.h"
#include "plan/task_graph.h"

namespace cleave::plan {

using CopyId = uint32_t;

class Sequence {
 public:
  static constexpr CopyId none = UINT32_MAX;

  // Precondition: the sequence is valid (as simulate() checks).
  Sequence(const TaskGraph& graph, std::span<const TaskId> tasks, int64_t limit);

  std::vector<TaskId> tasks() const;
  const SequenceProfile& profile() const { return profile_; }
  int64_t time() const { return time_; }
  size_t slots() const { return at_.size(); }
  const TaskGraph& graph() const { return graph_; }

  CopyId at_slot(size_t slot) const { return at_[slot]; }  // none if empty
  size_t slot(CopyId c) const { return copies_[c].slot; }
  TaskId task(CopyId c) const { return copies_[c].task; }
  bool is_first(CopyId c) const { return copies_[c].previous == none; }
  CopyId first_copy(TaskId v) const { return first_[v]; }
  CopyId last_copy(TaskId v) const { return last_copy_[v]; }
  CopyId previous_copy(CopyId c) const { return copies_[c].previous; }
  CopyId next_copy(CopyId c) const { return copies_[c].next; }
  // One after the last slot at which the copy's value x lives; its own slot if it leaves x out.
  size_t end_slot(CopyId c, ValueId x) const;
  // The copy of v that a reader at this slot reads; none if no copy is before it.
  CopyId source(TaskId v, size_t slot) const;
  CopyId copy_before(size_t slot) const;  // the nearest copy left of the slot, or none
  CopyId copy_after(size_t slot) const;
  // Copies that aren't first, in no particular order.
  const std::vector<CopyId>& extra() const { return extra_; }
  // The range of slots for a first copy, between those of its operands' and users' first copies.
  size_t earliest_slot(TaskId v) const;  // the last operand's slot + 1, or 0
  size_t latest_slot(TaskId v) const;    // the first user's slot - 1, or slots() - 1

  // Edits. `after` is a copy or none (the start).
  CopyId insert(TaskId v, CopyId after);  // v must have an earlier first copy
  void remove(CopyId c);                  // not a first copy
  // A first copy must stay within [earliest_slot, latest_slot] and before the next copy of its
  // task, any other between its neighbours' slots; otherwise does nothing and returns false.
  bool move(CopyId c, CopyId after);

  void mark();  // accepts the edits made so far
  // The number of words written and read so far, roughly proportional to the time spent.
  uint64_t work() const { return work_ * 4 + profile_.work(); }
  void undo();  // back to the last mark(), or to the start

 private:
  struct Copy {
    TaskId task = 0;
    uint32_t slot = 0;
    CopyId previous = none, next = none;  // copies of the same task, by slot
    uint32_t extra_index = 0;
  };
  enum class Field : uint8_t {
    slot,
    previous,
    next,
    extra_index,  // of a copy
    last,
    at,
    first,
    last_copy,
    extra,  // a word of these
    extra_grown,
    extra_cut
  };
  struct Overwritten {
    Field field;
    uint32_t index, value;
  };
  // State that changes its size or moves as a whole.
  struct Snapshot {
    SequenceProfile profile;
    std::vector<Copy> copies;
    std::vector<CopyId> last, at, first, last_copy, extra;
    size_t trail = 0;  // entries before it
  };

  uint32_t& word(Field field, uint32_t index);
  void put(uint32_t& word, Field field, uint32_t index, uint32_t value) {
    trail_.push_back({field, index, word});
    word = value;
    ++work_;
  }
  void put_slot(CopyId c, size_t slot) {
    put(copies_[c].slot, Field::slot, c, static_cast<uint32_t>(slot));
  }
  void put_at(size_t slot, CopyId c) { put(at_[slot], Field::at, static_cast<uint32_t>(slot), c); }
  void grow_extra(CopyId c);
  void cut_extra(CopyId c);
  void run_back();
  void take_snapshot();
  void respread();
  void make_room(size_t slot);
  size_t gap_after(CopyId after);
  void shift(size_t from, size_t to);  // the empty slot `to` moves to `from`
  double through(size_t slot) const;
  void attach(CopyId c, size_t slot);
  void detach(CopyId c);
  // Where the last reader of the copy's value x is recorded, none if it has no reader.
  uint32_t last_index(CopyId c, ValueId x) const {
    return static_cast<uint32_t>(c * most_values_ + x - graph_.first_value(copies_[c].task));
  }
  CopyId last(CopyId c, ValueId x) const { return last_[last_index(c, x)]; }
  CopyId find_last(CopyId c, ValueId x) const;
  void put_last(CopyId c, ValueId x, CopyId reader) {
    put(last_[last_index(c, x)], Field::last, last_index(c, x), reader);
  }
  void set_last(CopyId c, ValueId x, CopyId reader);
  void live(CopyId c, ValueId x, double sign);
  void live_kept(CopyId c, double sign);
  CopyId new_copy(TaskId v);

  const TaskGraph& graph_;
  SequenceProfile profile_;
  size_t most_values_ = 1;  // of a task
  std::vector<CopyId> at_;  // by slot
  std::vector<Copy> copies_;
  std::vector<CopyId> last_;  // by copy, most_values_ for each
  std::vector<CopyId> free_, first_, last_copy_, extra_;
  int64_t time_ = 0;
  size_t runs_ = 0;
  uint64_t work_ = 0;
  size_t crowded_ = SIZE_MAX;  // a slot around which room is short

  std::vector<Overwritten> trail_;
  std::vector<CopyId> made_, removed_;  // since mark()
  std::optional<Snapshot> snapshot_;
  int64_t marked_time_ = 0;
  size_t marked_runs_ = 0;
};

}  // namespace cleave::plan
