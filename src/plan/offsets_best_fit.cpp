#include "plan/offsets_best_fit.h"

#include <algorithm>
#include <limits>
#include <numeric>
#include <tuple>
#include <utility>

#include "plan/offsets_fit_tree.h"
#include "plan/offsets_skyline.h"

namespace cleave::plan {
namespace {

constexpr uint32_t nobody = FitTree::nobody;
constexpr int64_t infinite = std::numeric_limits<int64_t>::max();

// Buffers with fixed offsets above the skyline: the skyline passes under them, and absorbs each
// when it reaches it.
class Ceilings {
 public:
  Ceilings(const OffsetProblem& p, const Placement& fixed) : p_(p), fixed_(fixed) {
    for (uint32_t i = 0; i < fixed.size(); ++i)
      if (fixed[i] >= 0) above_.push_back(i);
  }
  bool empty() const { return above_.empty(); }
  // The least offset of the fixed buffers above [begin, end).
  int64_t over(int32_t begin, int32_t end) const {
    int64_t least = infinite;
    for (uint32_t i : above_)
      if (p_.buffers[i].first < end && begin < p_.buffers[i].last)
        least = std::min(least, fixed_[i]);
    return least;
  }
  // Removes and returns a fixed buffer that the segment reaches, or returns nobody.
  uint32_t take(const Skyline::Segment& s) {
    for (uint32_t& i : above_) {
      const OffsetProblem::Buffer& b = p_.buffers[i];
      if (fixed_[i] != s.height || b.first < s.begin || b.last > s.end) continue;
      const uint32_t taken = std::exchange(i, above_.back());
      above_.pop_back();
      return taken;
    }
    return nobody;
  }

 private:
  const OffsetProblem& p_;
  const Placement& fixed_;
  std::vector<uint32_t> above_;
};

class Fill {
 public:
  Fill(const OffsetProblem& p, const Placement& fixed)
      : p_(p), ceilings_(p, fixed), sky_(p.sections()), at_(p.size(), -1) {}
  // Places all of `ranked` on top of the current skyline.
  void run(const std::vector<uint32_t>& ranked) {
    std::vector<FitTree::Point> points;
    points.reserve(ranked.size());
    for (uint32_t i : ranked) points.push_back({p_.buffers[i].first, p_.buffers[i].last});
    FitTree unplaced(points);
    for (size_t left = ranked.size(); left > 0;) {
      const Skyline::Segment s = sky_.lowest();
      if (const uint32_t i = ceilings_.take(s); i != nobody) {
        place(s, i);
        continue;
      }
      const uint32_t rank = find(unplaced, ranked, points, s);
      if (rank == nobody) {
        sky_.raise(s, ceilings_.over(s.begin, s.end));
        continue;
      }
      unplaced.remove(rank);
      place(s, ranked[rank]);
      --left;
    }
  }
  // Returns the placement, including the fixed buffers that are still above.
  Placement take(const Placement& fixed) {
    for (uint32_t i = 0; i < fixed.size(); ++i)
      if (fixed[i] >= 0) at_[i] = fixed[i];
    return std::move(at_);
  }

 private:
  void place(const Skyline::Segment& s, uint32_t i) {
    at_[i] = s.height;
    sky_.place(s, p_.buffers[i].first, p_.buffers[i].last, p_.buffers[i].size);
  }
  // The best ranked buffer that fits under the fixed ones above; gives up after some tries.
  uint32_t find(FitTree& unplaced, const std::vector<uint32_t>& ranked,
                const std::vector<FitTree::Point>& points, const Skyline::Segment& s) {
    if (ceilings_.empty()) return unplaced.find(s.begin, s.end);
    constexpr size_t max_tries = 64;
    std::vector<uint32_t> too_high;
    uint32_t found = nobody;
    while (too_high.size() < max_tries) {
      const uint32_t rank = unplaced.find(s.begin, s.end);
      if (rank == nobody) break;
      const OffsetProblem::Buffer& b = p_.buffers[ranked[rank]];
      if (b.size <= ceilings_.over(b.first, b.last) - s.height) {
        found = rank;
        break;
      }
      unplaced.remove(rank);
      too_high.push_back(rank);
    }
    for (uint32_t rank : too_high) unplaced.put(rank, points[rank]);
    return found;
  }

  const OffsetProblem& p_;
  Ceilings ceilings_;
  Skyline sky_;
  Placement at_;
};

using Key = std::tuple<double, double, double>;  // larger first

Key key_of(const OffsetProblem::Buffer& b, FitOrder order) {
  const auto size = static_cast<double>(b.size), time = static_cast<double>(b.time);
  switch (order) {
    case FitOrder::tightest_time: return {static_cast<double>(b.tightest), time, size};
    case FitOrder::size: return {size, time, 0};
    case FitOrder::area: return {size * time, size, 0};
    case FitOrder::time: return {time, size, 0};
  }
  return {};
}

}  // namespace

Placement best_fit(const OffsetProblem& p, FitOrder order, const std::vector<bool>& low,
                   const Placement& fixed) {
  std::vector<uint32_t> ranked;
  std::vector<Key> keys;
  keys.reserve(p.size());
  for (const OffsetProblem::Buffer& b : p.buffers) keys.push_back(key_of(b, order));
  for (uint32_t i = 0; i < p.size(); ++i)
    if (fixed.empty() || fixed[i] < 0) ranked.push_back(i);
  std::sort(ranked.begin(), ranked.end(),
            [&](uint32_t x, uint32_t y) { return keys[x] != keys[y] ? keys[x] > keys[y] : x < y; });
  Fill fill(p, fixed);
  if (!low.empty()) {
    const auto middle =
        std::stable_partition(ranked.begin(), ranked.end(), [&](uint32_t i) { return low[i]; });
    fill.run({ranked.begin(), middle});
    ranked.erase(ranked.begin(), middle);
  }
  fill.run(ranked);
  return fill.take(fixed);
}

}  // namespace cleave::plan
