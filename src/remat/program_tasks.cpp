#include "remat/program_tasks.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <optional>
#include <utility>

#include "base/alignment.h"
#include "cut/joint_view.h"
#include "ir/edit.h"
#include "ir/subgraph.h"
#include "plan/simulate.h"

namespace cleave {

using plan::TaskId;

namespace {

size_t at(int32_t i) { return static_cast<size_t>(i); }

}  // namespace

// The task of a call has the call's number.
void ProgramTasks::add_tasks(const MachineRates& rates) {
  std::vector<plan::ValueId> made(program_->storages.size(), ~plan::ValueId{0});
  for (TaskId c = 0; c < program_->calls.size(); ++c) {
    const ProgramCalls::Call& call = program_->calls[c];
    const Node& node = graph_->node(call.node);
    list_.push_back({.workspace = call.workspace - call.over,
                     .time = call_ns(*graph_, call.node, rates),
                     .once = runs_once(traits_of(node)) || call.may_fail || !call.updates.empty() ||
                             node.tag.policy == Recompute::must_save});
    call_of_.push_back(c);
    for (const auto* read : {&call.reads, &call.updates})  // of an update another wrote a part
      for (const int32_t s : *read)
        if (made[at(s)] != ~plan::ValueId{0}) links_.emplace_back(made[at(s)], c);
    const auto first = static_cast<plan::ValueId>(values_.size());
    for (const int32_t s : call.makes) {
      const ProgramCalls::Storage& storage = program_->storages[at(s)];
      made[at(s)] = static_cast<plan::ValueId>(values_.size());
      values_.push_back({.maker = c,
                         .kept = storage.kept,
                         .optional = storage.optional && call.makes.size() > 1,
                         .bytes = rounded(storage.bytes)});
    }
    if (call.makes.empty()) values_.push_back({.maker = c});
    for (const int32_t s : call.updates) made[at(s)] = first;  // of readers after it
  }
  given_.resize(list_.size());
  std::iota(given_.begin(), given_.end(), TaskId{0});
}

// Adds tasks of 0 bytes that only order others: what is written over a placeholder runs after the
// placeholder's readers and after everything that may fail.
class ProgramTasks::Ordering {
 public:
  explicit Ordering(ProgramTasks& tasks)
      : t_(tasks), calls_(tasks.program_->calls), after_(calls_.size(), none),
        smallest_(calls_.size(), no_value), value_of_(tasks.list_.size()) {
    for (uint32_t c = 0; c < calls_.size(); ++c)
      for (const int32_t s : calls_[c].updates) writers_[s].push_back(c);
    for (plan::ValueId x = 0; x < t_.values_.size(); ++x)
      if (plan::ValueId& least = smallest_[t_.values_[x].maker];
          least == no_value || t_.values_[x].bytes < t_.values_[least].bytes)
        least = x;
  }

  void run() {
    if (writers_.empty()) return;
    add_checks();
    order_after_readers();
    order_after_checks();
    put_into_given_order();
  }

 private:
  static constexpr TaskId none = ~TaskId{0};
  static constexpr plan::ValueId no_value = ~plan::ValueId{0};

  TaskId add() {
    const auto id = static_cast<TaskId>(t_.list_.size());
    t_.list_.push_back({.once = true});
    t_.call_of_.push_back(no_call);
    value_of_.push_back(static_cast<plan::ValueId>(t_.values_.size()));
    t_.values_.push_back({.maker = id});
    return id;
  }
  // The task that follows a call, which stands for it in what is ordered.
  TaskId after_call(uint32_t c) {
    if (after_[c] == none) {
      after_[c] = add();
      t_.links_.emplace_back(smallest_[c], after_[c]);
    }
    return after_[c];
  }
  void order(TaskId first, TaskId second) { t_.links_.emplace_back(value_of_[first], second); }

  void add_checks() {
    std::vector<TaskId> checks;
    for (uint32_t c = 0; c < calls_.size(); ++c)
      if (calls_[c].may_fail) checks.push_back(after_call(c));
    checks_ = checks.size();
    if (checks.empty()) return;
    checked_ = add();
    for (const TaskId t : checks) order(t, checked_);
  }

  void order_after_readers() {
    for (uint32_t c = 0; c < calls_.size(); ++c)
      for (const int32_t s : calls_[c].reads) {
        const auto found = writers_.find(s);
        if (found == writers_.end()) continue;
        for (const uint32_t w : found->second)
          if (c < w) order(after_call(c), w);
      }
  }

  // A writer that may fail itself runs after all other calls that may fail, among such writers in
  // the given order.
  void order_after_checks() {
    if (checked_ == none) return;
    const auto waits_for = [&](uint32_t w, uint32_t c) {
      return calls_[c].may_fail && c != w && (calls_[c].updates.empty() || c < w);
    };
    for (const auto& [s, calls] : writers_)
      for (const uint32_t w : calls) {
        if (!calls_[w].may_fail) {
          order(checked_, w);
          continue;
        }
        for (uint32_t c = 0; c < calls_.size(); ++c)
          if (waits_for(w, c)) order(after_[c], w);
      }
  }

  // Each right after its call, `checked_` after the last check.
  void put_into_given_order() {
    t_.given_.clear();
    size_t left = checks_;
    for (uint32_t c = 0; c < calls_.size(); ++c) {
      t_.given_.push_back(c);
      if (after_[c] == none) continue;
      t_.given_.push_back(after_[c]);
      if (calls_[c].may_fail && --left == 0) t_.given_.push_back(checked_);
    }
  }

  ProgramTasks& t_;
  const std::vector<ProgramCalls::Call>& calls_;
  std::map<int32_t, std::vector<uint32_t>> writers_;  // by placeholder's storage: calls
  std::vector<TaskId> after_;                         // by call
  std::vector<plan::ValueId> smallest_;  // by call: its smallest value, which after_ reads
  std::vector<plan::ValueId> value_of_;  // by task, for those added here
  size_t checks_ = 0;                    // calls that may fail
  TaskId checked_ = none;                // runs after all of those
};

Result<ProgramTasks> ProgramTasks::make(const Graph& graph, const ProgramCalls& program,
                                        const MachineRates& rates) {
  ProgramTasks out(graph, program);
  out.add_tasks(rates);
  Ordering(out).run();
  CLEAVE_TRY(out.tasks_,
             plan::make_task_graph(std::move(out.list_), std::move(out.values_), out.links_));
  return out;
}

std::vector<TaskId> ProgramTasks::needed(const std::vector<TaskId>& sequence) const {
  std::vector<bool> wanted(tasks_.values.size());
  for (plan::ValueId x = 0; x < wanted.size(); ++x)
    wanted[x] = tasks_.values[x].kept || tasks_.after(tasks_.maker(x)).empty();
  std::vector<TaskId> out;
  for (auto it = sequence.rbegin(); it != sequence.rend(); ++it) {
    bool is_wanted = false;
    for (const plan::ValueId x : tasks_.made_by(*it)) {
      is_wanted = is_wanted || wanted[x];
      wanted[x] = false;
    }
    if (!is_wanted) continue;
    for (const plan::ValueId x : tasks_.operands(*it)) wanted[x] = true;
    out.push_back(*it);
  }
  std::reverse(out.begin(), out.end());
  return out;
}

ProgramTasks::Bound ProgramTasks::lower_bound() const {
  Bound bound;
  for (const ProgramCalls::Storage& s : program_->storages)
    if (s.kept && !s.update && !s.part) bound.bytes += rounded(s.bytes);
  bound.by = "what is returned";
  for (const ProgramCalls::Call& call : program_->calls) {
    if (call.at_least <= bound.bytes) continue;
    const Node& node = graph_->node(call.node);
    bound.bytes = call.at_least;
    bound.by = fmt::format("{} %{}", node.op->name, graph_->name(node.out(0)));
  }
  return bound;
}

// How many values the run at this position makes.
int64_t ProgramTasks::made_at(const std::vector<TaskId>& sequence, size_t position) const {
  const TaskId task = sequence[position];
  const auto begin = sequence.begin() + static_cast<std::ptrdiff_t>(position) + 1;
  const auto again = std::find(begin, sequence.end(), task);
  return std::ranges::count_if(tasks_.made_by(task), [&](plan::ValueId x) {
    const plan::Value& value = tasks_.values[x];
    return !value.optional || (value.kept && again == sequence.end()) ||
           std::find_first_of(begin, again, tasks_.users(x).begin(), tasks_.users(x).end()) !=
               again;
  });
}

std::vector<size_t> ProgramTasks::divisible(const std::vector<TaskId>& sequence,
                                            int64_t limit) const {
  std::vector<size_t> positions;
  const Result<plan::Simulated> run = plan::simulate(tasks_, sequence);
  if (!run.ok()) return positions;
  for (size_t i = 0; i < sequence.size(); ++i) {
    const auto values = tasks_.made_by(sequence[i]);
    const bool can_be =
        !tasks_[sequence[i]].once && values.size() > 1 &&
        std::ranges::all_of(values, [&](plan::ValueId x) { return tasks_.values[x].optional; });
    if (can_be && run->bytes_at[i] > limit && made_at(sequence, i) > 1) positions.push_back(i);
  }
  return positions;
}

int64_t ProgramTasks::recompute_ns(const std::vector<TaskId>& sequence,
                                   const std::vector<size_t>& apart) const {
  std::vector<bool> ran(program_->calls.size());
  int64_t sum = 0;
  for (const size_t position : apart)
    sum += tasks_[sequence[position]].time * (made_at(sequence, position) - 1);
  for (const TaskId t : sequence) {
    if (call_of_[t] == no_call) continue;
    if (ran[t]) sum += tasks_[t].time;
    ran[t] = true;
  }
  return sum;
}

// Writes the nodes of a sequence into a new graph.
class SequenceWriter {
 public:
  explicit SequenceWriter(const ProgramTasks& tasks)
      : tasks_(tasks), from_(*tasks.graph_), to_(from_.name()), task_node_(from_.node_capacity()),
        made_of_(from_.node_capacity()), seen_(from_.node_capacity()) {
    for (const ProgramCalls::Call& call : tasks.program_->calls) task_node_[call.node.v] = true;
  }

  Result<Graph> run(const std::vector<TaskId>& sequence, const std::vector<size_t>& apart) {
    for (const Placeholder& p : from_.placeholders()) {
      CLEAVE_TRY(map_[p.value.v], to_.add_placeholder(p.role, from_.name(p.value),
                                                      from_.type(p.value), p.wants_grad, p.sym));
    }
    for (size_t i = 0; i < sequence.size(); ++i)
      if (tasks_.call_of_[sequence[i]] != ProgramTasks::no_call)
        CLEAVE_CHECK(write(sequence[i], std::ranges::binary_search(apart, i)));
    for (const Return& r : from_.returns()) {
      CLEAVE_CHECK(resolve(r.value));
      Return copy{map_.at(r.value.v), r.kind, {}};
      if (r.target.valid()) copy.target = map_.at(r.target.v);
      to_.add_return(copy);
    }
    eliminate_dead_code(to_);  // runs that only an order asks for
    return std::move(to_);
  }

 private:
  Status write(TaskId task, bool apart) {
    const NodeId n = tasks_.program_->calls[tasks_.call_of_[task]].node;
    for (const ValueId in : from_.node(n).inputs)
      if (in.valid()) CLEAVE_CHECK(resolve(in));
    return apart ? write_apart(n) : copy_nodes(from_, {n}, to_, map_);
  }

  // A node for each result, the largest last: only the last may lie over an operand.
  Status write_apart(NodeId n) {
    const Node& node = from_.node(n);
    std::vector<ValueId> results, made;
    for (uint32_t k = 0; k < node.output_count; ++k)
      if (!from_.type(node.out(k)).is_none) results.push_back(node.out(k));
    std::ranges::stable_sort(results, {}, [&](ValueId v) { return hint_bytes_of(from_, v); });
    for (const ValueId v : results) {
      CLEAVE_CHECK(copy_nodes(from_, {n}, to_, map_));
      made.push_back(map_.at(v.v));
    }
    for (size_t k = 0; k < results.size(); ++k) map_[results[k].v] = made[k];
    return {};
  }

  // Makes map_ hold the newest copy of v: a node without a task is made anew where an operand of it
  // was.
  Status resolve(ValueId value) {
    ++round_;
    std::vector<std::pair<ValueId, bool>> open{{value, false}};
    while (!open.empty()) {
      const auto [v, operands_done] = open.back();
      open.pop_back();
      const NodeId n = from_.value(v).def;
      if (!n.valid() || task_node_[n.v]) {
        if (!map_.contains(v.v))
          return bug("cut: a sequence runs a reader of %{} before it", from_.name(v));
        continue;
      }
      if (operands_done) {
        CLEAVE_CHECK(refresh(n));
      } else if (std::exchange(seen_[n.v], round_) != round_) {
        open.emplace_back(v, true);
        for (const ValueId in : from_.node(n).inputs)
          if (in.valid()) open.emplace_back(in, false);
      }
    }
    return {};
  }

  Status refresh(NodeId n) {
    std::vector<ValueId> operands;
    for (const ValueId in : from_.node(n).inputs)
      if (in.valid()) operands.push_back(map_.at(in.v));
    if (made_of_[n.v] == operands) return {};
    made_of_[n.v] = std::move(operands);
    return copy_nodes(from_, {n}, to_, map_);
  }

  const ProgramTasks& tasks_;
  const Graph& from_;
  Graph to_;
  std::vector<bool> task_node_;  // by node
  // Of the newest copy of a node without a task, and when it was last looked at.
  std::vector<std::optional<std::vector<ValueId>>> made_of_;
  std::vector<uint32_t> seen_;
  uint32_t round_ = 0;
  std::unordered_map<uint32_t, ValueId> map_;  // the newest copy of each value
};

Result<Graph> ProgramTasks::program(const std::vector<TaskId>& sequence,
                                    const std::vector<size_t>& apart) const {
  return SequenceWriter(*this).run(sequence, apart);
}

}  // namespace cleave
