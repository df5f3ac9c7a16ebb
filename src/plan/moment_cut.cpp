#include "plan/moment_cut.h"

#include <algorithm>
#include <limits>

#include "flow/search_trees.h"

namespace cleave::plan {
namespace {

constexpr uint32_t absent = UINT32_MAX;

}  // namespace

Moment::Moment(const TaskGraph& graph, TaskId q, std::vector<Side> side)
    : graph_(graph), q_(q), side_(std::move(side)), free_(graph.size(), false),
      index_(graph.size(), absent) {
  free_[q] = true;
  needed_bytes_ = graph[q].bytes + graph[q].workspace;
  for (TaskId x : graph.operands(q)) {
    free_[x] = true;
    needed_bytes_ += graph[x].bytes;
  }
  const auto want = [&](TaskId x) {
    if (free_[x] || side_[x] == Side::after || index_[x] != absent) return;
    index_[x] = static_cast<uint32_t>(wanted_.size());
    wanted_.push_back(x);
  };
  for (TaskId v = 0; v < graph.size(); ++v) {
    if (side_[v] == Side::after)
      for (TaskId x : graph.operands(v)) want(x);
    if (graph[v].kept) want(v);
  }
  read_ = wanted_;
  for (size_t i = 0; i < wanted_.size(); ++i)
    for (TaskId x : graph.operands(wanted_[i])) want(x);
  for (TaskId x : read_) keep_all_.bytes += graph[x].bytes;
  bool again = true;  // everything may run again
  for (TaskId x : wanted_) {
    arcs_ += 2 + static_cast<int64_t>(graph.operands(x).size());
    again = again && !stays(x);
    all_time_ += time_again(x);
    all_bytes_ += graph[x].bytes;
  }
  keep_least_ = again ? MomentCut{all_time_, 0, wanted_} : at_price(0, 1);
}

MomentCut Moment::at_price(int64_t time_price, int64_t bytes_price) const {
  int64_t work = std::numeric_limits<int64_t>::max();
  return *at_price(time_price, bytes_price, work);
}

// A variable is true if it is on the sink's side:
//   s -> r_u    time      cut if u runs again; infinite if it must not
//   r_u -> a_u  bytes     cut if u is needed and doesn't run again
//   a_x -> r_u  infinite  u runs again, so its operand x is needed
//   a_u -> t    infinite  a task after the moment reads u
// Operands stand behind their readers in wanted_: numbered from its end, arcs lead upwards.
template <class Cap>
std::optional<MomentCut> Moment::solve(int64_t time_price, int64_t bytes_price,
                                       int64_t& work) const {
  const auto count = static_cast<int32_t>(wanted_.size());
  const auto runs = [&](uint32_t i) { return 2 * (count - 1 - static_cast<int32_t>(i)); };
  constexpr Cap terminal = flow::SearchTrees<Cap>::unlimited / 4;  // infinite, at source and sink
  std::vector<flow::Arc> arcs;
  arcs.reserve(static_cast<size_t>(arcs_));
  for (uint32_t i = 0; i < wanted_.size(); ++i) {
    const TaskId u = wanted_[i];
    arcs.push_back({runs(i), runs(i) + 1, graph_[u].bytes * bytes_price});
    for (const TaskId x : graph_.operands(u))
      if (index_[x] != absent) arcs.push_back({runs(index_[x]) + 1, runs(i), flow::infinite});
  }
  flow::SearchTrees<Cap> trees;
  trees.load(2 * count, arcs, 1);
  for (uint32_t i = 0; i < wanted_.size(); ++i)
    trees.add_excess(runs(i),
                     stays(wanted_[i]) ? terminal : Cap{time_again(wanted_[i])} * time_price);
  for (const TaskId u : read_) trees.add_excess(runs(index_[u]) + 1, -terminal);
  trees.sweep();
  const bool is_solved = trees.solve(work);
  work -= trees.scanned_arcs();
  if (!is_solved) return std::nullopt;
  MomentCut cut;
  for (uint32_t i = 0; i < wanted_.size(); ++i) {
    const TaskId u = wanted_[i];
    const bool again = !trees.reached_by_excess(runs(i));
    const bool needed = !trees.reached_by_excess(runs(i) + 1);
    if (again && needed) {
      cut.again.push_back(u);
      cut.time += time_again(u);
    } else if (needed) {
      cut.bytes += graph_[u].bytes;
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
