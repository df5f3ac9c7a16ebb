#include "plan/moment_cut.h"

#include <algorithm>
#include <limits>

#include "flow/search_trees.h"

namespace cleave::plan {
namespace {

constexpr uint32_t absent = UINT32_MAX;

}  // namespace

Moment::Moment(const TaskGraph& graph, TaskId q, std::vector<Side> side)
    : graph_(graph), q_(q), side_(std::move(side)), free_(graph.values.size(), false),
      index_(graph.size(), absent), is_wanted_(graph.values.size(), false) {
  needed_bytes_ = graph[q].workspace;
  const auto is_there = [&](ValueId x) {
    free_[x] = true;
    needed_bytes_ += graph.values[x].bytes;
  };
  for (const ValueId x : graph.made_by(q))
    if (!graph.values[x].optional) is_there(x);
  for (const ValueId x : graph.operands(q)) is_there(x);
  for (TaskId v = 0; v < graph.size(); ++v) {
    if (side_[v] == Side::after)
      for (const ValueId x : graph.operands(v)) want(x);
    if (graph[v].kept)
      for (const ValueId x : graph.made_by(v))
        if (graph.values[x].kept) want(x);
  }
  const size_t read = read_.size();
  for (size_t i = 0; i < wanted_.size(); ++i)
    for (const ValueId x : graph.operands(wanted_[i])) want(x);
  read_.resize(read);
  add_sizes();
}

void Moment::want(ValueId x) {
  const TaskId u = graph_.maker(x);
  if (free_[x] || side_[u] == Side::after || is_wanted_[x]) return;
  is_wanted_[x] = true;
  read_.push_back(x);
  if (index_[u] != absent) return;
  index_[u] = static_cast<uint32_t>(wanted_.size());
  wanted_.push_back(u);
}

void Moment::add_sizes() {
  for (const ValueId x : read_) keep_all_.bytes += graph_.values[x].bytes;
  bool again = true;  // everything may run again
  node_of_.resize(wanted_.size());
  for (size_t i = wanted_.size(); i-- > 0;) {
    const TaskId u = wanted_[i];
    node_of_[i] = nodes_;
    nodes_ += 1 + static_cast<int32_t>(graph_.made_by(u).size());
    again = again && !stays(u);
    all_time_ += time_again(u);
    for (const ValueId x : graph_.made_by(u))
      if (is_wanted_[x]) all_bytes_ += graph_.values[x].bytes;
    arcs_ += static_cast<int64_t>(1 + graph_.made_by(u).size() + graph_.operands(u).size());
  }
  keep_least_ = again ? MomentCut{all_time_, 0, wanted_} : at_price(0, 1);
}

MomentCut Moment::at_price(int64_t time_price, int64_t bytes_price) const {
  int64_t work = std::numeric_limits<int64_t>::max();
  return *at_price(time_price, bytes_price, work);
}

// A variable is true if it is on the sink's side:
//   s -> r_u    time      cut if u runs again; infinite if it must not
//   r_u -> a_x  bytes     cut if u's value x is needed and u doesn't run again
//   a_x -> r_u  infinite  u runs again, so its operand x is needed
//   a_x -> t    infinite  a task after the moment reads x
// Operands stand behind their readers in wanted_: numbered from its end, arcs lead upwards.
template <class Cap>
std::optional<MomentCut> Moment::solve(int64_t time_price, int64_t bytes_price,
                                       int64_t& work) const {
  const auto node = [&](ValueId x) {
    const TaskId u = graph_.maker(x);
    return node_of_[index_[u]] + 1 + static_cast<int32_t>(x - graph_.first_value(u));
  };
  constexpr Cap terminal = flow::SearchTrees<Cap>::unlimited / 4;  // infinite, at source and sink
  std::vector<flow::Arc> arcs;
  arcs.reserve(static_cast<size_t>(arcs_));
  for (uint32_t i = 0; i < wanted_.size(); ++i) {
    const TaskId u = wanted_[i];
    for (const ValueId x : graph_.made_by(u))
      if (is_wanted_[x])
        arcs.push_back({node_of_[i], node(x), graph_.values[x].bytes * bytes_price});
    for (const ValueId x : graph_.operands(u))
      if (is_wanted_[x]) arcs.push_back({node(x), node_of_[i], flow::infinite});
  }
  flow::SearchTrees<Cap> trees;
  trees.load(nodes_, arcs, 1);
  for (uint32_t i = 0; i < wanted_.size(); ++i)
    trees.add_excess(node_of_[i],
                     stays(wanted_[i]) ? terminal : Cap{time_again(wanted_[i])} * time_price);
  for (const ValueId x : read_) trees.add_excess(node(x), -terminal);
  trees.sweep();
  const bool is_solved = trees.solve(work);
  work -= trees.scanned_arcs();
  if (!is_solved) return std::nullopt;
  MomentCut cut;
  for (uint32_t i = 0; i < wanted_.size(); ++i) {
    const TaskId u = wanted_[i];
    const bool again = !trees.reached_by_excess(node_of_[i]);
    bool needed = false;
    for (const ValueId x : graph_.made_by(u)) {
      if (!is_wanted_[x] || trees.reached_by_excess(node(x))) continue;
      needed = true;
      if (!again) cut.bytes += graph_.values[x].bytes;
    }
    if (!again || !needed) continue;
    cut.again.push_back(u);
    cut.time += time_again(u);
  }
  return cut;
}

MomentCut Moment::running_again(std::span<const TaskId> again) const {
  std::vector<bool> runs(wanted_.size()), is_needed(graph_.values.size());
  for (const TaskId u : again)
    if (index_[u] != absent && !stays(u)) runs[index_[u]] = true;
  MomentCut cut;
  std::vector<ValueId> open;
  const auto need = [&](ValueId x) {
    if (is_wanted_[x] && !is_needed[x]) is_needed[x] = true, open.push_back(x);
  };
  std::vector<bool> is_in(wanted_.size());
  for (const ValueId x : read_) need(x);
  while (!open.empty()) {
    const ValueId x = open.back();
    const TaskId u = graph_.maker(x);
    open.pop_back();
    if (!runs[index_[u]]) {
      cut.bytes += graph_.values[x].bytes;
    } else if (!is_in[index_[u]]) {
      is_in[index_[u]] = true;
      cut.again.push_back(u);
      cut.time += time_again(u);
      for (const ValueId operand : graph_.operands(u)) need(operand);
    }
  }
  return cut;
}

std::optional<MomentCut> Moment::at_price(int64_t time_price, int64_t bytes_price,
                                          int64_t& work) const {
  const flow::int128 sum =
      flow::int128{all_time_} * time_price + flow::int128{all_bytes_} * bytes_price;
  return sum < flow::finite_limit ? solve<flow::Capacity>(time_price, bytes_price, work)
                                  : solve<flow::int128>(time_price, bytes_price, work);
}

}  // namespace cleave::plan
