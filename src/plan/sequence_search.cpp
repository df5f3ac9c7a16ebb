#include "plan/sequence_search.h"

#include <algorithm>
#include <cmath>

#include "plan/sequence.h"
#include "plan/split_mix.h"

namespace cleave::plan {
namespace {

// Temperatures in mean times of a task (order_only: in mean bytes). From orders that were found
// starting at 4, layered_250 at 70% ends at 0.566% of overhead with 9 of 10 seeds, from those found
// starting at 0.3 at 0.864% and more (500,000 moves each, 2026-11-22).
struct Cooling {
  double from, to;
};
constexpr Cooling cooling_of(SearchKind kind) {
  switch (kind) {
    case SearchKind::wide: return {0.3, 0.003};
    case SearchKind::near_start: return {0.06, 0.003};
    case SearchKind::order_only: return {4, 0.05};
  }
  return {};
}
// Shares of the moves in percent; the rest are stretches.
constexpr int add_share = 30, remove_share = 20, swap_share = 10, move_share = 20;
constexpr uint32_t kept_share = 4;    // one of so many additions, where there are tasks to take
constexpr uint64_t usual_work = 300;  // a move that takes n times as much counts as n; about 0.8 us
constexpr int deepest_chain = 6;      // of dead operands that are copied too
constexpr int longest_chain = 24;     // the most links of it visited
constexpr uint32_t longest_move = 12;  // slots that a short move spans
constexpr uint32_t longest_run = 7;
constexpr uint32_t farthest_cone = 40;  // copies by which a cone moves
constexpr size_t largest_cone = 16;

class Annealer {
 public:
  Annealer(const TaskGraph& graph, std::span<const TaskId> start, int64_t limit,
           const SearchOptions& options)
      : graph_(graph), sequence_(graph, start, limit), random_(options.seed), options_(options) {
    double time = 0, bytes = 0;
    for (const Task& t : graph.tasks) {
      time += static_cast<double>(t.time);
      bytes += static_cast<double>(t.bytes);
    }
    for (TaskId v = 0; v < graph.size(); ++v)
      if (graph[v].kept && !graph[v].once && !graph.after(v).empty()) kept_.push_back(v);
    const auto n = static_cast<double>(std::max<size_t>(graph.size(), 1));
    time_unit_ = std::max(time / n, 1e-3);
    bytes_unit_ = std::max(bytes / n, 1.0);
  }

  FoundSequence run() {
    keep_if_best(0);
    const int64_t round = std::clamp<int64_t>(options_.moves / 100, 100, 2000);
    // Copying out a sequence takes as long as many moves, so small gains are deferred.
    const auto n = static_cast<double>(graph_.size());
    const auto min_gain = static_cast<int64_t>(time_unit_ * n * n * 1e-9);
    int64_t in_round = 0, next_round = 0;
    for (int64_t m = 0; m < options_.moves && !done();) {
      if (m >= next_round) {
        start_round(static_cast<double>(m) / static_cast<double>(options_.moves), in_round);
        in_round = 0;
        next_round += round;
      }
      const uint64_t before = sequence_.work();
      try_move();
      m += std::max<int64_t>(1, static_cast<int64_t>((sequence_.work() - before) / usual_work));
      ++in_round;
      if (!sequence_.profile().within_limit()) continue;
      ++within_;
      keep_if_best(best_.met ? min_gain : 0);
    }
    keep_if_best(0);
    return std::move(best_);
  }

 private:
  double energy() const {
    return static_cast<double>(sequence_.time()) +
           price_ * time_unit_ / bytes_unit_ * sequence_.profile().over();
  }
  bool done() const { return best_.met && best_.time <= options_.enough_time; }

  void start_round(double at, int64_t round) {
    const Cooling cooling = cooling_of(options_.kind);
    temperature_ = time_unit_ * cooling.from * std::pow(cooling.to / cooling.from, at);
    if (options_.kind != SearchKind::order_only)
      price_ = std::clamp(price_ * (within_ * 2 > round ? 0.85 : 1.18), 1e-4, 1e4);
    within_ = 0;
    keep_if_best(0);
  }

  // Saves the sequence if it gains more than min_gain.
  void keep_if_best(int64_t min_gain) {
    const bool met = sequence_.profile().within_limit();
    if (met ? best_.met && sequence_.time() >= best_.time - min_gain : best_.met) return;
    const auto peak = static_cast<int64_t>(sequence_.profile().peak());
    const double worse = options_.kind == SearchKind::order_only ? sequence_.profile().over()
                                                                 : sequence_.profile().peak();
    if (!met && !best_.tasks.empty() && worse >= min_worse_) return;
    min_worse_ = worse;
    best_ = {sequence_.tasks(), peak, sequence_.time(), met};
  }

  void try_move() {
    max_energy_ = energy() - temperature_ * std::log(std::max(random_.uniform(), 1e-12));
    chain_left_ = longest_chain;
    sequence_.mark();
    if (!propose() || energy() > max_energy_) sequence_.undo();
  }

  bool propose() {
    if (options_.kind == SearchKind::order_only) {
      const uint32_t k = random_.below(10);
      return k < 5 ? move() : k < 7 ? move_run() : move_cone();
    }
    const int kind = static_cast<int>(random_.below(100));
    int share = add_share;
    if (kind < share) return add();
    if (kind < (share += remove_share)) return remove();
    if (kind < (share += swap_share)) return remove() && add();
    if (kind < (share += move_share)) return move();
    return random_.below(5) < 2 ? move_run() : move_cone();
  }

  CopyId any_copy() {
    const auto slots = static_cast<uint32_t>(sequence_.slots());
    for (;;)
      if (const CopyId c = sequence_.at_slot(random_.below(slots)); c != Sequence::none) return c;
  }

  bool add() {
    if (!kept_.empty() && random_.below(kept_share) == 0) return add_kept();
    if (!sequence_.profile().within_limit() && random_.below(2) == 0) return add_where_over();
    const CopyId reader = any_copy();
    const auto operands = graph_.operands(sequence_.task(reader));
    if (operands.empty()) return false;
    const ValueId x = operands[random_.below(static_cast<uint32_t>(operands.size()))];
    return add_before(graph_.maker(x), reader, deepest_chain);
  }

  // Recomputes a value that lives across a position above the limit after that position.
  bool add_where_over() {
    const SequenceProfile& profile = sequence_.profile();
    const auto block = static_cast<uint32_t>(profile.block_size());
    const size_t over = std::min(profile.block_over(random_.below(1u << 30)) + random_.below(block),
                                 sequence_.slots() - 2);
    for (int tries = 0; tries < 8; ++tries) {
      const auto after = static_cast<uint32_t>(sequence_.slots() - over - 1);
      const CopyId reader = sequence_.at_slot(over + 1 + random_.below(after));
      if (reader == Sequence::none) continue;
      const auto operands = graph_.operands(sequence_.task(reader));
      if (operands.empty()) continue;
      const ValueId x = operands[random_.below(static_cast<uint32_t>(operands.size()))];
      const TaskId v = graph_.maker(x);
      if (sequence_.slot(sequence_.source(v, sequence_.slot(reader))) >= over) continue;
      return add_before(v, first_reader_after(x, over, reader), deepest_chain);
    }
    return false;
  }

  // Makes a kept value again at a later position, so that what was made for readers need not be
  // kept.
  bool add_kept() {
    const TaskId v = kept_[random_.below(static_cast<uint32_t>(kept_.size()))];
    const CopyId after = any_copy();
    if (sequence_.slot(after) <= sequence_.slot(sequence_.last_copy(v))) return false;
    const CopyId next = sequence_.copy_after(sequence_.slot(after));
    return add_at(v, after, next == Sequence::none ? sequence_.slots() : sequence_.slot(next),
                  deepest_chain);
  }

  CopyId first_reader_after(ValueId x, size_t slot, CopyId first) const {
    for (TaskId u : graph_.users(x))
      for (CopyId c = sequence_.last_copy(u); c != Sequence::none && sequence_.slot(c) > slot;
           c = sequence_.previous_copy(c))
        if (sequence_.slot(c) < sequence_.slot(first)) first = c;
    return first;
  }

  bool add_before(TaskId v, CopyId reader, int depth) {
    const size_t slot = sequence_.slot(reader);
    return add_at(v, sequence_.copy_before(slot), slot, depth);
  }

  // `slot` is that of the copy that follows `after`.
  bool add_at(TaskId v, CopyId after, size_t slot, int depth) {
    if (graph_[v].once || sequence_.source(v, slot) == after) return false;
    std::vector<TaskId> dead;
    if (depth > 0)
      for (const ValueId x : graph_.operands(v)) {
        const TaskId u = graph_.maker(x);
        if (sequence_.end_slot(sequence_.source(u, slot), x) <= slot &&
            (dead.empty() || dead.back() != u))
          dead.push_back(u);
      }
    const CopyId made = sequence_.insert(v, after);
    for (TaskId u : dead) {
      if (chain_left_-- == 0 || static_cast<double>(sequence_.time()) > max_energy_) return false;
      if (random_.below(3) > 0) add_before(u, made, depth - 1);
    }
    return true;
  }

  bool remove() {
    if (sequence_.extra().empty()) return false;
    sequence_.remove(
        sequence_.extra()[random_.below(static_cast<uint32_t>(sequence_.extra().size()))]);
    return true;
  }

  bool move() {
    const CopyId c = any_copy();
    const TaskId v = sequence_.task(c);
    size_t low, high;
    if (sequence_.is_first(c)) {
      low = sequence_.earliest_slot(v);
      high = sequence_.latest_slot(v);
    } else {
      low = sequence_.slot(sequence_.previous_copy(c));
      high = sequence_.slots() - 1;
    }
    if (const CopyId next = sequence_.next_copy(c); next != Sequence::none)
      high = std::min(high, sequence_.slot(next));
    if (low >= high) return false;
    size_t target;
    if (random_.below(2) == 0) {
      const uint32_t reach = 1 + random_.below(longest_move);
      const size_t at = sequence_.slot(c);
      target = random_.below(2) == 0 ? at - std::min<size_t>(reach, at - std::min(at, low))
                                     : std::min(high, at + reach);
    } else {
      target = low + random_.below(static_cast<uint32_t>(high - low + 1));
    }
    return sequence_.move(c, sequence_.copy_before(target));
  }

  // Moves a stretch of consecutive copies after another copy.
  bool move_run() {
    const CopyId head = any_copy();
    const uint32_t length = 2 + random_.below(longest_run - 1);
    std::vector<CopyId> run;
    for (CopyId c = head; c != Sequence::none && run.size() < length;
         c = sequence_.copy_after(sequence_.slot(c)))
      run.push_back(c);
    CopyId after = any_copy();
    if (std::find(run.begin(), run.end(), after) != run.end()) return false;
    if (sequence_.slot(after) > sequence_.slot(head)) {
      for (size_t i = run.size(); i-- > 0;)
        if (!sequence_.move(run[i], after)) return false;
      return true;
    }
    for (CopyId c : run) {
      if (!sequence_.move(c, after)) return false;
      after = c;
    }
    return true;
  }

  // Moves a first copy to an earlier place, with all its operands in between, or to a later one,
  // with all its users in between.
  bool move_cone() {
    const CopyId head = sequence_.first_copy(random_.below(static_cast<uint32_t>(graph_.size())));
    const bool back = random_.below(2) == 0;
    CopyId target = head;
    for (uint32_t n = 1 + random_.below(farthest_cone); n > 0; --n) {
      const size_t at = sequence_.slot(target);
      const CopyId next = back ? sequence_.copy_before(at) : sequence_.copy_after(at);
      if (next == Sequence::none) break;
      target = next;
    }
    if (target == head) return false;
    const size_t to = sequence_.slot(target);
    std::vector<CopyId>& cone = cone_;
    cone.assign(1, head);
    for (size_t i = 0; i < cone.size(); ++i) {
      const TaskId v = sequence_.task(cone[i]);
      for (const TaskId x : back ? graph_.before(v) : graph_.after(v)) {
        const CopyId c = sequence_.first_copy(x);
        const size_t at = sequence_.slot(c);
        if ((back ? at <= to : at > to) || std::find(cone.begin(), cone.end(), c) != cone.end())
          continue;
        if (cone.size() == largest_cone) return false;
        cone.push_back(c);
      }
    }
    std::sort(cone.begin(), cone.end(), [&](CopyId a, CopyId b) {
      return (sequence_.slot(a) < sequence_.slot(b)) == back && a != b;
    });
    CopyId after = target;
    for (const CopyId c : cone) {
      if (c == target) return false;
      if (!sequence_.move(c, after) && sequence_.copy_before(sequence_.slot(c)) != after)
        return false;
      if (back) after = c;
    }
    return true;
  }

  const TaskGraph& graph_;
  Sequence sequence_;
  SplitMix random_;
  std::vector<CopyId> cone_;
  std::vector<TaskId> kept_;  // tasks of kept values that somebody reads, or reads another of
  SearchOptions options_;
  int64_t within_ = 0;    // moves of this round that ended within the limit
  double min_worse_ = 0;  // of what isn't within the limit, while nothing is
  double time_unit_ = 1, bytes_unit_ = 1, price_ = 1, temperature_ = 1;
  int chain_left_ = 0;
  double max_energy_ = 0;  // at which the current move is accepted
  FoundSequence best_;
};

}  // namespace

FoundSequence search_sequence(const TaskGraph& graph, std::span<const TaskId> start, int64_t limit,
                              const SearchOptions& options) {
  if (start.empty()) return {{}, 0, 0, limit >= 0};
  return Annealer(graph, start, limit, options).run();
}

}  // namespace cleave::plan
