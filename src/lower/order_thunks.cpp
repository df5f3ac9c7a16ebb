#include "lower/order_thunks.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "lower/plan_memory.h"
#include "lower/thunk_uses.h"
#include "plan/order.h"
#include "plan/simulate.h"

namespace cleave {
namespace {

using plan::TaskId;

// Of the arena. Less isn't worth another order: neighbours in the given one often find their
// operands in the cache.
constexpr int64_t min_gain_divisor = 64;

// A task for each node with its thunks, and tasks of 0 bytes that only order others. A task's first
// value, of 0 bytes, says that it has run; the others are the storages that it touches first.
class ThunkTasks {
 public:
  explicit ThunkTasks(const LoweredProgram& p) : p_(p), storages_(p.storages.size()) {
    for (size_t i = 0; i < p.thunks.size(); ++i) {
      const NodeId node = p.thunks[i].node;
      if (i == 0 || !node.valid() || node != p.thunks[i - 1].node) begin_.push_back(i);
    }
    tasks_.resize(begin_.size());
    begin_.push_back(p.thunks.size());
    for (TaskId t = 0; t + 1 < begin_.size(); ++t)
      for (size_t i = begin_[t]; i < begin_[t + 1]; ++i)
        each_touched(p.thunks[i], [&](size_t s) { storages_[s].see(t, i); });
    for (const size_t s : p.returns) storages_[s].is_returned = true;
    for (TaskId t = 0; t + 1 < begin_.size(); ++t) add(t);
  }

  // The thunks by number in an order with a smaller peak; nullopt: none is found.
  Result<std::optional<std::vector<size_t>>> better_order() const {
    CLEAVE_TRY(const plan::TaskGraph graph, task_graph());
    CLEAVE_TRY(const plan::Simulated now, plan::simulate(graph, given_));
    const plan::Order best = plan::min_peak_order(graph, given_);
    if (best.peak >= now.peak) return std::optional<std::vector<size_t>>();
    std::vector<size_t> thunks;
    for (const TaskId t : best.tasks)
      if (t + 1 < begin_.size())
        for (size_t i = begin_[t]; i < begin_[t + 1]; ++i) thunks.push_back(i);
    return std::optional(std::move(thunks));
  }

 private:
  struct Value {
    int64_t bytes = 0;
    bool kept = false;
    std::vector<TaskId> readers;
  };
  struct Task {
    int64_t workspace = 0;
    std::vector<Value> values{{}};
  };
  struct TouchedStorage {
    std::optional<TaskId> first;
    TaskId last = 0;
    size_t last_thunk = 0;
    bool is_returned = false, is_counted = false;
    size_t value = 0;  // of the first task
    // Of the tasks that were added: the last one that writes it, and who read it since.
    std::optional<TaskId> writer;
    std::vector<TaskId> readers;

    void see(TaskId t, size_t thunk) {
      if (!first) first = t;
      last = t;
      last_thunk = thunk;
    }
    bool is_own() const { return *first == last && !is_returned; }
  };

  void wait(TaskId t, TaskId earlier) {
    if (t != earlier) tasks_[earlier].values[0].readers.push_back(t);
  }

  void add(TaskId t) {
    bool may_fail = false, calls_host = false, writes_placeholder = false;
    for (size_t i = begin_[t]; i < begin_[t + 1]; ++i) {
      may_fail = may_fail || p_.thunks[i].may_fail;
      calls_host = calls_host || std::holds_alternative<ForeignCall>(p_.thunks[i].work);
      each_use(p_, p_.thunks[i], [&](size_t s, bool is_written) {
        const bool in_arena = p_.storages[s].placeholder < 0;
        writes_placeholder = writes_placeholder || (is_written && !in_arena);
        if (in_arena) put_into_memory(t, s);
        keep_order(t, storages_[s], is_written);
      });
    }
    tasks_[t].workspace = own_bytes(t);
    if (calls_host) {
      if (last_host_call_) wait(t, *last_host_call_);
      last_host_call_ = t;
    }
    if (writes_placeholder) wait_for_checks(t);
    if (may_fail) unchecked_.push_back(t);
    given_.push_back(t);
  }

  void put_into_memory(TaskId t, size_t s) {
    TouchedStorage& storage = storages_[s];
    if (storage.is_own()) return;
    std::vector<Value>& made = tasks_[*storage.first].values;
    if (*storage.first != t) {
      made[storage.value].readers.push_back(t);
    } else if (storage.value == 0) {
      storage.value = made.size();
      made.push_back({rounded(p_.storages[s].bytes), storage.is_returned, {}});
    }
  }

  void keep_order(TaskId t, TouchedStorage& storage, bool is_written) {
    if (storage.writer) wait(t, *storage.writer);
    if (!is_written) {
      storage.readers.push_back(t);
      return;
    }
    for (const TaskId r : storage.readers) wait(t, r);
    storage.readers.clear();
    storage.writer = t;
  }

  // The most bytes at one thunk of the task that no other task touches.
  int64_t own_bytes(TaskId t) {
    int64_t alive = 0, most = 0;
    std::vector<int64_t> dies(begin_[t + 1] - begin_[t]);  // after each thunk
    for (size_t i = begin_[t]; i < begin_[t + 1]; ++i) {
      each_touched(p_.thunks[i], [&](size_t s) {
        TouchedStorage& storage = storages_[s];
        if (p_.storages[s].placeholder >= 0 || !storage.is_own()) return;
        if (std::exchange(storage.is_counted, true)) return;
        alive += rounded(p_.storages[s].bytes);
        dies[storage.last_thunk - begin_[t]] += rounded(p_.storages[s].bytes);
      });
      most = std::max(most, alive);
      alive -= dies[i - begin_[t]];
    }
    return most;
  }

  // A task that runs after all so far that may fail stands for them.
  void wait_for_checks(TaskId t) {
    if (!unchecked_.empty()) {
      const auto checked = static_cast<TaskId>(tasks_.size());
      tasks_.emplace_back();
      for (const TaskId u : unchecked_) wait(checked, u);
      if (checked_) wait(checked, *checked_);
      checked_ = checked;
      unchecked_.clear();
      given_.push_back(checked);
    }
    if (checked_) wait(t, *checked_);
  }

  Result<plan::TaskGraph> task_graph() const {
    std::vector<plan::Task> tasks;
    std::vector<plan::Value> values;
    std::vector<plan::Link> links;
    for (TaskId t = 0; t < tasks_.size(); ++t) {
      tasks.push_back({.workspace = tasks_[t].workspace, .once = true});
      for (const Value& value : tasks_[t].values) {
        for (const TaskId reader : value.readers)
          links.emplace_back(static_cast<plan::ValueId>(values.size()), reader);
        values.push_back({.maker = t, .kept = value.kept, .bytes = value.bytes});
      }
    }
    return plan::make_task_graph(std::move(tasks), std::move(values), links);
  }

  const LoweredProgram& p_;
  std::vector<size_t> begin_;  // by task: its first thunk; and the end
  std::vector<TouchedStorage> storages_;
  std::vector<Task> tasks_;
  std::vector<TaskId> given_;
  std::vector<TaskId> unchecked_;  // may fail, and no task waits for them yet
  std::optional<TaskId> checked_, last_host_call_;
};

void put_in_order(LoweredProgram& p, const std::vector<size_t>& order) {
  std::vector<Thunk> out;
  for (const size_t i : order) out.push_back(std::move(p.thunks[i]));
  p.thunks = std::move(out);
}

}  // namespace

Status order_thunks(LoweredProgram& p) {
  if (has_jumps(p)) return {};
  CLEAVE_TRY(const auto order, ThunkTasks(p).better_order());
  if (!order) return {};
  const int64_t before = measure_memory(p).arena;
  put_in_order(p, *order);
  if (before - measure_memory(p).arena >= std::max<int64_t>(1, before / min_gain_divisor))
    return {};
  std::vector<size_t> back(order->size());
  for (size_t i = 0; i < back.size(); ++i) back[(*order)[i]] = i;
  put_in_order(p, back);
  return {};
}

}  // namespace cleave
