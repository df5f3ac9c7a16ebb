#include "plan/offload.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace cleave::plan {
namespace {

// A gap that a value may be absent in, with the time of its copies.
struct Gap {
  size_t value, gap;
  int64_t begin, end;     // touched at both, not in between
  int64_t ready, needed;  // ns: the end of the touch at begin, the begin of the one at `end`
  int64_t copy_ns;
  int64_t absent_from = 0, absent_to = 0;
};

class Planner {
 public:
  explicit Planner(const OffloadProblem& p) : p_(p), start_{0}, alive_(p.ns.size()) {
    for (const int64_t ns : p.ns) start_.push_back(start_.back() + ns);
    for (const OffloadValue& v : p.values) {
      const int64_t end = v.to_the_end ? positions() : v.touches.back() + 1;
      for (int64_t at = v.touches.front(); at < end; ++at) alive_[index(at)] += v.bytes;
    }
    find_gaps();
  }

  std::optional<std::vector<Offload>> run() {
    std::vector<Gap> chosen;
    std::vector<bool> taken(gaps_.size());
    for (;;) {
      const std::vector<int64_t> alive = alive_with(chosen);
      const auto most = std::ranges::max_element(alive);
      if (most == alive.end() || *most <= p_.limit) break;
      const std::optional<size_t> next = next_gap(most - alive.begin(), *most, taken, chosen);
      if (!next) return {};
      taken[*next] = true;
      chosen = *placed(chosen, gaps_[*next]);
    }
    give_back(chosen);
    std::vector<Offload> out;
    for (const Gap& g : chosen) out.push_back({g.value, g.gap, g.absent_from, g.absent_to});
    return out;
  }

 private:
  int64_t positions() const { return std::ssize(p_.ns); }
  static size_t index(int64_t position) { return static_cast<size_t>(position); }

  // The longest first.
  void find_gaps() {
    for (size_t v = 0; v < p_.values.size(); ++v) {
      const auto& touches = p_.values[v].touches;
      const auto bytes = static_cast<double>(p_.values[v].bytes);
      const auto copy_ns =
          p_.ns_per_copy + static_cast<int64_t>(std::ceil(bytes / p_.bytes_per_ns));
      for (size_t k = 0; k + 1 < touches.size(); ++k) {
        const Gap g{v,
                    k,
                    touches[k],
                    touches[k + 1],
                    start_[index(touches[k]) + 1],
                    start_[index(touches[k + 1])],
                    copy_ns};
        if (bytes > 0 && g.needed - g.ready > 2 * copy_ns) gaps_.push_back(g);
      }
    }
    std::ranges::stable_sort(gaps_, std::greater(),
                             [](const Gap& g) { return g.needed - g.ready; });
  }

  std::vector<int64_t> alive_with(const std::vector<Gap>& chosen) const {
    std::vector<int64_t> less(alive_.size() + 1), out = alive_;
    for (const Gap& g : chosen) {
      less[index(g.absent_from)] += p_.values[g.value].bytes;
      less[index(g.absent_to)] -= p_.values[g.value].bytes;
    }
    int64_t absent = 0;
    for (size_t k = 0; k < out.size(); ++k) out[k] -= absent += less[k];
    return out;
  }

  static int64_t absent_at(const std::vector<Gap>& chosen, int64_t position,
                           const std::vector<OffloadValue>& values) {
    int64_t sum = 0;
    for (const Gap& g : chosen)
      if (g.absent_from <= position && position < g.absent_to) sum += values[g.value].bytes;
    return sum;
  }

  // The first gap with which less is alive at the position.
  std::optional<size_t> next_gap(int64_t position, int64_t alive, const std::vector<bool>& taken,
                                 const std::vector<Gap>& chosen) const {
    for (size_t k = 0; k < gaps_.size(); ++k) {
      const Gap& g = gaps_[k];
      if (taken[k] || position <= g.begin || position >= g.end) continue;
      const std::optional<std::vector<Gap>> more = placed(chosen, g);
      if (more && alive_[index(position)] - absent_at(*more, position, p_.values) < alive) return k;
    }
    return {};
  }

  // `chosen` with one more, and when each is absent; nullopt: one of them never would be.
  std::optional<std::vector<Gap>> placed(std::vector<Gap> chosen, const Gap& more) const {
    chosen.push_back(more);
    return placed(std::move(chosen));
  }
  std::optional<std::vector<Gap>> placed(std::vector<Gap> chosen) const {
    int64_t busy = std::numeric_limits<int64_t>::max();  // from then on, with copies in
    std::ranges::sort(chosen, {}, [](const Gap& g) { return std::pair(-g.end, -number(g)); });
    for (Gap& g : chosen) {
      busy = std::min(busy, g.needed) - g.copy_ns;
      if (busy < 0) return {};
      g.absent_to = std::ranges::upper_bound(start_, busy) - start_.begin() - 1;
    }
    busy = 0;  // until then, with copies out
    std::ranges::sort(chosen, {}, [](const Gap& g) { return std::pair(g.begin, number(g)); });
    for (Gap& g : chosen) {
      busy = std::max(busy, g.ready) + g.copy_ns;
      g.absent_from = std::ranges::lower_bound(start_, busy) - start_.begin();
      if (g.absent_from >= g.absent_to) return {};
    }
    return chosen;
  }
  static int64_t number(const Gap& g) { return static_cast<int64_t>(g.value); }

  // The last one that was chosen isn't always last in the order of copies, so all are tried.
  void give_back(std::vector<Gap>& chosen) const {
    for (size_t k = chosen.size(); k-- > 0;) {
      std::vector<Gap> fewer = chosen;
      fewer.erase(fewer.begin() + static_cast<std::ptrdiff_t>(k));
      const std::optional<std::vector<Gap>> again = placed(std::move(fewer));
      if (again && std::ranges::max(alive_with(*again)) <= p_.limit) chosen = *again;
    }
  }

  const OffloadProblem& p_;
  std::vector<int64_t> start_;  // ns, by position, and the end
  std::vector<int64_t> alive_;  // bytes, by position, with nothing offloaded
  std::vector<Gap> gaps_;
};

}  // namespace

std::optional<std::vector<Offload>> plan_offloads(const OffloadProblem& problem) {
  return Planner(problem).run();
}

}  // namespace cleave::plan
