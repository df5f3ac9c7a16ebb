#include "plan/moment_cut.h"

#include <algorithm>
#include <limits>

namespace cleave::plan {
namespace {

constexpr int64_t infinite = std::numeric_limits<int64_t>::max() / 4;
constexpr uint32_t absent = UINT32_MAX;

// Dinic's maximum flow; arcs are in one array, each next to its reverse.
class Network {
 public:
  explicit Network(size_t nodes) : first_(nodes, absent), level_(nodes), at_(nodes) {}
  void arc(uint32_t from, uint32_t to, int64_t capacity) {
    arcs_.push_back({to, first_[from], capacity});
    first_[from] = static_cast<uint32_t>(arcs_.size() - 1);
    arcs_.push_back({from, first_[to], 0});
    first_[to] = static_cast<uint32_t>(arcs_.size() - 1);
  }
  // Returns false if that visits more arcs than `work`; subtracts the number visited from it.
  bool run(uint32_t source, uint32_t sink, int64_t& work) {
    work_ = work;
    bool more = true;
    while (work_ > 0 && (more = find_levels(source, sink))) {
      at_ = first_;
      push(source, sink);
    }
    work = work_;
    return !more;
  }
  // After run(): whether v is on the source's side of the minimum cut nearest the source.
  bool near_source(uint32_t v) const { return level_[v] != absent; }

 private:
  struct Arc {
    uint32_t to, next;
    int64_t left;
  };

  bool find_levels(uint32_t source, uint32_t sink) {
    level_.assign(first_.size(), absent);
    level_[source] = 0;
    std::vector<uint32_t> queue{source};
    for (size_t i = 0; i < queue.size(); ++i)
      for (uint32_t a = first_[queue[i]]; a != absent; a = arcs_[a].next, --work_)
        if (arcs_[a].left > 0 && level_[arcs_[a].to] == absent) {
          level_[arcs_[a].to] = level_[queue[i]] + 1;
          queue.push_back(arcs_[a].to);
        }
    return level_[sink] != absent;
  }

  // A blocking flow; paths are kept on an explicit stack, since graphs are deep.
  void push(uint32_t source, uint32_t sink) {
    std::vector<uint32_t> path;
    uint32_t v = source;
    while (work_ > 0) {
      if (v == sink) {
        v = augment(path, source);
        continue;
      }
      uint32_t& a = at_[v];
      for (--work_; a != absent && (arcs_[a].left == 0 || level_[arcs_[a].to] != level_[v] + 1);
           --work_)
        a = arcs_[a].next;
      if (a != absent) {
        path.push_back(a);
        v = arcs_[a].to;
      } else if (path.empty()) {
        return;
      } else {
        level_[v] = absent - 1;  // leads nowhere in this phase
        v = arcs_[path.back() ^ 1].to;
        path.pop_back();
      }
    }
  }

  // Goes back to the beginning of the first full arc of the path.
  uint32_t augment(std::vector<uint32_t>& path, uint32_t source) {
    int64_t flow = infinite;
    for (uint32_t a : path) flow = std::min(flow, arcs_[a].left);
    work_ -= static_cast<int64_t>(path.size());
    size_t keep = path.size();
    for (size_t i = path.size(); i-- > 0;) {
      arcs_[path[i]].left -= flow;
      arcs_[path[i] ^ 1].left += flow;
      if (arcs_[path[i]].left == 0) keep = i;
    }
    path.resize(keep);
    return path.empty() ? source : arcs_[path.back()].to;
  }

  std::vector<uint32_t> first_;
  std::vector<Arc> arcs_;
  std::vector<uint32_t> level_, at_;
  int64_t work_ = 0;
};

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
std::optional<MomentCut> Moment::at_price(int64_t time_price, int64_t bytes_price,
                                          int64_t& work) const {
  const auto count = static_cast<uint32_t>(wanted_.size());
  const uint32_t source = 2 * count, sink = source + 1;
  Network net(2 * size_t{count} + 2);
  for (uint32_t i = 0; i < count; ++i) {
    const TaskId u = wanted_[i];
    const int64_t time = stays(u) ? infinite : time_again(u) * time_price;
    if (time > 0) net.arc(source, 2 * i, time);
    net.arc(2 * i, 2 * i + 1, graph_[u].bytes * bytes_price);
    for (TaskId x : graph_.operands(u))
      if (index_[x] != absent) net.arc(2 * index_[x] + 1, 2 * i, infinite);
  }
  for (TaskId u : read_) net.arc(2 * index_[u] + 1, sink, infinite);
  if (!net.run(source, sink, work)) return std::nullopt;
  MomentCut cut;
  for (uint32_t i = 0; i < count; ++i) {
    const TaskId u = wanted_[i];
    const bool again = !net.near_source(2 * i), needed = !net.near_source(2 * i + 1);
    if (again && needed) {
      cut.again.push_back(u);
      cut.time += time_again(u);
    } else if (needed) {
      cut.bytes += graph_[u].bytes;
    }
  }
  return cut;
}

}  // namespace cleave::plan
