#include "remat/step_tasks.h"

#include <algorithm>
#include <map>
#include <optional>
#include <utility>

#include "base/alignment.h"
#include "ir/edit.h"
#include "ir/subgraph.h"

namespace cleave {

using plan::TaskId;

namespace {

size_t at(int32_t i) { return static_cast<size_t>(i); }

}  // namespace

Result<StepTasks> StepTasks::make(const Graph& graph, const StepProgram& program,
                                  const MachineRates& rates) {
  StepTasks out(graph, program);
  out.add_tasks(rates);
  out.add_order();
  CLEAVE_TRY(out.tasks_, plan::make_task_graph(std::move(out.list_), out.links_));
  return out;
}

void StepTasks::add_tasks(const MachineRates& rates) {
  std::vector<TaskId> maker(program_->storages.size(), ~TaskId{0});
  for (uint32_t c = 0; c < program_->calls.size(); ++c) {
    const StepProgram::Call& call = program_->calls[c];
    const Node& node = graph_->node(call.node);
    const bool once = runs_once(traits_of(node)) || call.may_fail || !call.updates.empty() ||
                      node.tag.policy == Recompute::must_save;
    const bool apart = std::all_of(call.makes.begin(), call.makes.end(), [&](int32_t s) {
      return program_->storages[at(s)].value.valid();
    });
    int64_t together = 0;
    for (const int32_t s : call.makes) together += rounded(program_->storages[at(s)].bytes);
    std::vector<TaskId>& mine = of_call_.emplace_back();
    const auto add = [&](plan::Task task, ValueId value) {
      task.time = call_ns(*graph_, call.node, rates);
      task.workspace = call.workspace;
      task.once = once;
      const auto id = static_cast<TaskId>(list_.size());
      for (const int32_t s : call.reads)
        if (maker[at(s)] != ~TaskId{0}) links_.emplace_back(maker[at(s)], id);
      for (const int32_t s : call.updates)  // of which another call has written a part
        if (maker[at(s)] != ~TaskId{0}) links_.emplace_back(maker[at(s)], id);
      list_.push_back(task);
      owner_.push_back({c, value});
      mine.push_back(id);
      given_.push_back(id);
    };
    if (!apart || call.makes.empty()) {
      plan::Task task{.bytes = together};
      for (const int32_t s : call.makes) task.kept |= program_->storages[at(s)].kept;
      add(task, {});
    } else {
      for (const int32_t s : call.makes) {
        const StepProgram::Storage& storage = program_->storages[at(s)];
        plan::Task task{.bytes = rounded(storage.bytes)};
        task.kept = storage.kept;
        add(task, storage.value);
      }
    }
    for (size_t k = 0; k < call.makes.size(); ++k)
      maker[at(call.makes[k])] = mine[mine.size() == 1 ? 0 : k];
    for (const int32_t s : call.updates) maker[at(s)] = mine[0];  // of readers after it
  }
}

// What is written over a placeholder comes after its readers and after what may fail.
void StepTasks::add_order() {
  std::map<int32_t, std::vector<uint32_t>> writers;  // by storage: calls
  for (uint32_t c = 0; c < program_->calls.size(); ++c)
    for (const int32_t s : program_->calls[c].updates) writers[s].push_back(c);
  if (writers.empty()) return;
  std::vector<TaskId> after(program_->calls.size(), ~TaskId{0});
  const auto add = [&](uint32_t c) {
    const auto id = static_cast<TaskId>(list_.size());
    list_.push_back({.once = true});
    owner_.push_back({});
    if (c != no_call)
      for (const TaskId t : of_call_[c]) links_.emplace_back(t, id);
    return id;
  };
  const auto after_call = [&](uint32_t c) {
    if (after[c] == ~TaskId{0}) after[c] = add(c);
    return after[c];
  };
  std::vector<TaskId> checks;
  for (uint32_t c = 0; c < program_->calls.size(); ++c)
    if (program_->calls[c].may_fail) checks.push_back(after_call(c));
  TaskId checked = ~TaskId{0};
  if (!checks.empty()) {
    checked = add(no_call);
    for (const TaskId t : checks) links_.emplace_back(t, checked);
  }
  for (uint32_t c = 0; c < program_->calls.size(); ++c)
    for (const int32_t s : program_->calls[c].reads) {
      const auto found = writers.find(s);
      if (found == writers.end()) continue;
      for (const uint32_t w : found->second)
        if (c < w)
          for (const TaskId t : of_call_[w]) links_.emplace_back(after_call(c), t);
    }
  // One that checks before it writes comes after the others, of its kind those before it.
  const auto waits_for = [&](uint32_t w, uint32_t c) {
    return program_->calls[c].may_fail && c != w && (program_->calls[c].updates.empty() || c < w);
  };
  for (const auto& [s, calls] : writers)
    for (const uint32_t w : calls) {
      if (checked == ~TaskId{0}) break;
      for (const TaskId t : of_call_[w]) {
        if (!program_->calls[w].may_fail) {
          links_.emplace_back(checked, t);
          continue;
        }
        for (uint32_t c = 0; c < program_->calls.size(); ++c)
          if (waits_for(w, c)) links_.emplace_back(after[c], t);
      }
    }
  // Into the given order: right after the call, `checked` after the last check.
  std::vector<TaskId> order;
  size_t left = checks.size();
  for (uint32_t c = 0; c < program_->calls.size(); ++c) {
    order.insert(order.end(), of_call_[c].begin(), of_call_[c].end());
    if (after[c] == ~TaskId{0}) continue;
    order.push_back(after[c]);
    if (program_->calls[c].may_fail && --left == 0) order.push_back(checked);
  }
  given_ = std::move(order);
}

// Tasks that become one node: neighbours of one call, each once; tasks that only order are left
// out.
std::vector<std::vector<TaskId>> StepTasks::runs(const std::vector<TaskId>& sequence) const {
  std::vector<std::vector<TaskId>> out;
  for (const TaskId t : sequence) {
    if (owner_[t].call == no_call) continue;
    if (!out.empty() && owner_[out.back()[0]].call == owner_[t].call &&
        std::find(out.back().begin(), out.back().end(), t) == out.back().end())
      out.back().push_back(t);
    else
      out.push_back({t});
  }
  return out;
}

std::vector<TaskId> StepTasks::together(const std::vector<TaskId>& order) const {
  std::vector<bool> ran(owner_.size()), pulled(owner_.size());
  std::vector<TaskId> out;
  out.reserve(order.size());
  for (const TaskId t : order) {
    if (pulled[t]) {  // its first run stands further ahead
      pulled[t] = false;
      continue;
    }
    out.push_back(t);
    if (ran[t] || owner_[t].call == no_call) continue;
    ran[t] = true;
    for (const TaskId other : of_call_[owner_[t].call])
      if (!ran[other]) {
        ran[other] = pulled[other] = true;
        out.push_back(other);
      }
  }
  return out;
}

std::vector<TaskId> StepTasks::needed(const std::vector<TaskId>& sequence) const {
  std::vector<bool> wanted(owner_.size());
  for (TaskId t = 0; t < tasks_.size(); ++t) wanted[t] = tasks_[t].kept || tasks_.users(t).empty();
  std::vector<TaskId> out;
  for (auto it = sequence.rbegin(); it != sequence.rend(); ++it) {
    if (!wanted[*it]) continue;
    wanted[*it] = false;
    for (const TaskId u : tasks_.operands(*it)) wanted[u] = true;
    out.push_back(*it);
  }
  std::reverse(out.begin(), out.end());
  return out;
}

StepTasks::Bound StepTasks::lower_bound() const {
  Bound bound;
  for (const StepProgram::Storage& s : program_->storages)
    if (s.kept && !s.update && !s.part) bound.bytes += rounded(s.bytes);
  bound.by = "what is returned";
  for (const StepProgram::Call& call : program_->calls) {
    if (call.at_least <= bound.bytes) continue;
    const Node& node = graph_->node(call.node);
    bound.bytes = call.at_least;
    bound.by = fmt::format("{} %{}", node.op->name, graph_->name(node.out(0)));
  }
  return bound;
}

int64_t StepTasks::recompute_ns(const std::vector<TaskId>& sequence) const {
  std::vector<bool> ran(program_->calls.size());
  int64_t sum = 0;
  for (const auto& run : runs(sequence)) {
    const uint32_t c = owner_[run[0]].call;
    if (ran[c]) sum += tasks_[run[0]].time;
    ran[c] = true;
  }
  return sum;
}

// Writes the nodes of a sequence into a new graph.
class SequenceWriter {
 public:
  explicit SequenceWriter(const StepTasks& tasks)
      : tasks_(tasks), from_(*tasks.graph_), to_(from_.name()), task_node_(from_.node_capacity()),
        made_of_(from_.node_capacity()), seen_(from_.node_capacity()) {
    for (const StepProgram::Call& call : tasks.program_->calls) task_node_[call.node.v] = true;
  }

  Result<Graph> run(const std::vector<TaskId>& sequence) {
    for (const Placeholder& p : from_.placeholders()) {
      CLEAVE_TRY(map_[p.value.v], to_.add_placeholder(p.role, from_.name(p.value),
                                                      from_.type(p.value), p.wants_grad, p.sym));
    }
    for (const auto& step : tasks_.runs(sequence)) CLEAVE_CHECK(write(step));
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
  Status write(const std::vector<TaskId>& step) {
    const NodeId n = tasks_.program_->calls[tasks_.owner_[step[0]].call].node;
    const Node& node = from_.node(n);
    for (const ValueId in : node.inputs)
      if (in.valid()) CLEAVE_CHECK(resolve(in));
    std::vector<ValueId> before(node.output_count);
    for (uint32_t k = 0; k < node.output_count; ++k)
      if (const auto it = map_.find(node.out(k).v); it != map_.end()) before[k] = it->second;
    CLEAVE_CHECK(copy_nodes(from_, {n}, to_, map_));
    for (uint32_t k = 0; k < node.output_count; ++k)
      if (before[k].valid() && !is_made(step, node.out(k))) map_[node.out(k).v] = before[k];
    return {};
  }

  // Whether the run makes this result; results without a task of their own are made by every run.
  bool is_made(const std::vector<TaskId>& step, ValueId v) const {
    bool of_other = false;
    for (const TaskId t : tasks_.of_call_[tasks_.owner_[step[0]].call]) {
      const ValueId made = tasks_.owner_[t].value;
      if (!made.valid()) return true;
      if (made != v) continue;
      if (std::find(step.begin(), step.end(), t) != step.end()) return true;
      of_other = true;
    }
    return !of_other;
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

  const StepTasks& tasks_;
  const Graph& from_;
  Graph to_;
  std::vector<bool> task_node_;  // by node
  // Of the newest copy of a node without a task, and when it was last looked at.
  std::vector<std::optional<std::vector<ValueId>>> made_of_;
  std::vector<uint32_t> seen_;
  uint32_t round_ = 0;
  std::unordered_map<uint32_t, ValueId> map_;  // the newest copy of each value
};

Result<Graph> StepTasks::program(const std::vector<TaskId>& sequence) const {
  return SequenceWriter(*this).run(sequence);
}

}  // namespace cleave
