#include "bench/graphs/layered_tasks.h"

#include <cmath>

#include "bench/graphs/random_graph.h"

namespace cleave::bench {
namespace {

using plan::Link;
using plan::Task;
using plan::TaskId;

constexpr double layer_variation = 0.75, link_share = 0.2, skip_share = 0.14;

class Maker {
 public:
  Maker(size_t tasks, uint64_t seed, double width) : random_(seed) {
    const double mean = 2 * width * std::sqrt(static_cast<double>(tasks));
    const auto low = static_cast<int64_t>(std::max(1.0, std::ceil(mean * (1 - layer_variation))));
    const auto high = static_cast<int64_t>(mean * (1 + layer_variation));
    layers_.push_back({add()});
    while (tasks_.size() + 1 < tasks) {
      const int64_t size = random_.between(low, std::max(low, high));
      layers_.emplace_back();
      for (int64_t k = 0; k < size && tasks_.size() + 1 < tasks; ++k)
        layers_.back().push_back(add());
    }
    layers_.push_back({add()});
    tasks_.front().time = tasks_.back().time = 0;
    link_neighbours();
    link_far();
  }
  LayeredTasks make() {
    const size_t n = tasks_.size();
    LayeredTasks out{value_or_throw(plan::make_task_graph(std::move(tasks_), links_)), {}};
    std::vector<size_t> waits(n);
    std::vector<TaskId> ready;
    for (TaskId v = 0; v < n; ++v)
      if ((waits[v] = out.graph.before(v).size()) == 0) ready.push_back(v);
    while (!ready.empty()) {
      const auto k = static_cast<size_t>(random_.between(0, std::ssize(ready) - 1));
      std::swap(ready[k], ready.back());
      const TaskId v = ready.back();
      ready.pop_back();
      out.order.push_back(v);
      for (const TaskId u : out.graph.after(v))
        if (--waits[u] == 0) ready.push_back(u);
    }
    return out;
  }

 private:
  TaskId add() {
    int64_t bytes = 0;
    do {
      const double share = static_cast<double>(random_.between(1, 1'000'000)) / 1e6;
      bytes = 10 * static_cast<int64_t>(1 - 200 * std::log(share));
    } while (bytes > 7500);
    tasks_.push_back({.bytes = bytes, .time = random_.between(0, 999)});
    return static_cast<TaskId>(tasks_.size() - 1);
  }
  TaskId any(const std::vector<TaskId>& layer) {
    return layer[static_cast<size_t>(random_.between(0, std::ssize(layer) - 1))];
  }
  bool chance(double share) {
    return random_.between(0, 999'999) < static_cast<int64_t>(share * 1e6);
  }
  void link_neighbours() {
    std::vector<bool> is_read(tasks_.size());
    const auto link = [&](TaskId from, TaskId to) {
      links_.emplace_back(from, to);
      is_read[from] = true;
    };
    for (size_t l = 1; l < layers_.size(); ++l) {
      for (const TaskId to : layers_[l]) {
        const size_t before = links_.size();
        for (const TaskId from : layers_[l - 1])
          if (chance(link_share)) link(from, to);
        if (links_.size() == before) link(any(layers_[l - 1]), to);
      }
      for (const TaskId from : layers_[l - 1])
        if (!is_read[from]) link(from, any(layers_[l]));
    }
  }
  void link_far() {
    const auto near = static_cast<double>(links_.size());
    const auto far = static_cast<size_t>(near * skip_share / (1 - skip_share));
    for (size_t k = 0; k < far && layers_.size() > 3; ++k) {
      const int64_t from = random_.between(0, std::ssize(layers_) - 3);
      const int64_t to = random_.between(from + 2, std::ssize(layers_) - 1);
      links_.emplace_back(any(layers_[static_cast<size_t>(from)]),
                          any(layers_[static_cast<size_t>(to)]));
    }
  }

  Random random_;
  std::vector<Task> tasks_;
  std::vector<Link> links_;
  std::vector<std::vector<TaskId>> layers_;
};

}  // namespace

LayeredTasks layered_tasks(size_t tasks, uint64_t seed, double width) {
  return Maker(tasks, seed, width).make();
}

}  // namespace cleave::bench
