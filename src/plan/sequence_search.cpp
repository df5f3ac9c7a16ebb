#include "plan/sequence_search.h"

#include <algorithm>
#include <cmath>

#include "plan/sequence.h"
#include "plan/split_mix.h"

namespace cleave::plan {
namespace {

class Annealer {
 public:
  Annealer(const TaskGraph& graph, std::span<const TaskId> start, int64_t limit,
           const SearchOptions& options)
      : graph_(graph),
        sequence_(graph, start, limit),
        random_(options.seed),
        moves_(options.moves),
        limit_(limit) {
    double time = 0, bytes = 0;
    for (const Task& t : graph.tasks) {
      time += static_cast<double>(t.time);
      bytes += static_cast<double>(t.bytes);
    }
    const auto n = static_cast<double>(std::max<size_t>(graph.size(), 1));
    time_unit_ = std::max(time / n, 1e-3);
    bytes_unit_ = std::max(bytes / n, 1.0);
  }

  FoundSequence run() {
    keep_if_best();
    const int64_t round = std::max<int64_t>(100, std::min<int64_t>(moves_ / 100, 2000));
    price_ = 1.0;
    for (int64_t m = 0; m < moves_; ++m) {
      if (m % round == 0) {
        const double at = static_cast<double>(m) / static_cast<double>(moves_);
        temperature_ = time_unit_ * hot * std::pow(cold / hot, at);
        price_ *= within_ * 2 > round ? 0.85 : 1.18;
        price_ = std::clamp(price_, 1e-4, 1e4);
        within_ = 0;
      }
      if (done()) break;
      step();
      within_ += sequence_.profile().within_limit() ? 1 : 0;
    }
    return std::move(best_);
  }
  static inline double hot = 0.3, cold = 0.003;
  static inline int w_add=35, w_remove=20, w_swap=10, w_move=25;

 private:
  double energy() const {
    return static_cast<double>(sequence_.time()) +
           price_ * time_unit_ / bytes_unit_ * sequence_.profile().over();
  }
  bool done() const {
    return best_.met && sequence_.extra().empty() && sequence_.profile().within_limit();
  }

  void keep_if_best() {
    const bool met = sequence_.profile().within_limit();
    if (met ? best_.met && sequence_.time() >= best_.time : best_.met) return;
    const auto peak = static_cast<int64_t>(sequence_.profile().peak());
    if (!met && !best_.steps.empty() && peak >= best_.peak) return;
    best_ = {sequence_.steps(), peak, sequence_.time(), met};
  }

  void step() {
    const double before = energy();
    sequence_.mark();
    if (!propose()) {
      sequence_.undo();
      return;
    }
    const double delta = energy() - before;
    if (delta > 0 && random_.uniform() >= std::exp(-delta / temperature_)) {
      sequence_.undo();
      return;
    }
    keep_if_best();
  }

  bool propose() {
    const int kind = static_cast<int>(random_.below(100));
    int w = w_add;
    if (kind < w) return add();
    if (kind < (w += w_remove)) return remove();
    if (kind < (w += w_swap)) return remove() && add();
    if (kind < (w += w_move)) return move();
    return move_run();
  }

  CopyId any_step() {
    const auto slots = static_cast<uint32_t>(sequence_.slots());
    for (;;)
      if (const CopyId c = sequence_.at_slot(random_.below(slots)); c != Sequence::none) return c;
  }

  bool add() {
    CopyId reader = any_step();
    const auto operands = graph_.operands(sequence_.task(reader));
    if (operands.empty()) return false;
    const TaskId v = operands[random_.below(static_cast<uint32_t>(operands.size()))];
    return add_before(v, reader, 6);
  }

  bool add_before(TaskId v, CopyId reader, int depth) {
    const CopyId source = sequence_.source(v, sequence_.slot(reader));
    const CopyId after = sequence_.step_before(sequence_.slot(reader));
    if (source == after) return false;
    const size_t slot = sequence_.slot(reader);
    std::vector<TaskId> dead;
    if (depth > 0)
      for (TaskId x : graph_.operands(v)) {
        const CopyId s = sequence_.source(x, slot);
        if (sequence_.end_slot(s) < slot) dead.push_back(x);
      }
    const CopyId made = sequence_.insert(v, after);
    for (TaskId x : dead)
      if (random_.below(3) > 0) add_before(x, made, depth - 1);
    return true;
  }

  bool remove() {
    if (sequence_.extra().empty()) return false;
    sequence_.remove(
        sequence_.extra()[random_.below(static_cast<uint32_t>(sequence_.extra().size()))]);
    return true;
  }

  bool move() {
    const CopyId c = any_step();
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
      const uint32_t reach = 1 + random_.below(12);
      const size_t at = sequence_.slot(c);
      target = random_.below(2) == 0 ? at - std::min<size_t>(reach, at - std::min(at, low))
                                     : std::min(high, at + reach);
    } else {
      target = low + random_.below(static_cast<uint32_t>(high - low + 1));
    }
    return sequence_.move(c, sequence_.step_before(target));
  }

  // A run of steps, one after the other, behind another step.
  bool move_run() {
    const CopyId head = any_step();
    const uint32_t length = 2 + random_.below(6);
    std::vector<CopyId> run;
    for (CopyId c = head; c != Sequence::none && run.size() < length;
         c = sequence_.step_after(sequence_.slot(c)))
      run.push_back(c);
    CopyId after = any_step();
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

  const TaskGraph& graph_;
  Sequence sequence_;
  SplitMix random_;
  int64_t moves_, limit_, within_ = 0;
  double time_unit_ = 1, bytes_unit_ = 1, price_ = 1, temperature_ = 1;
  FoundSequence best_;
};

}  // namespace

FoundSequence search_sequence(const TaskGraph& graph, std::span<const TaskId> start, int64_t limit,
                              const SearchOptions& options) {
  return Annealer(graph, start, limit, options).run();
}

double* search_knobs(int i) { return i == 0 ? &Annealer::hot : &Annealer::cold; }

}  // namespace cleave::plan
