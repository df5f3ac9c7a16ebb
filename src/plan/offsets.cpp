#include "plan/offsets.h"

#include <algorithm>

#include "plan/offsets_best_fit.h"
#include "plan/offsets_core.h"
#include "plan/offsets_problem.h"
#include "plan/offsets_search.h"

namespace cleave::plan {
namespace {

constexpr int64_t mega = 1'000'000;
constexpr size_t max_searched = 2048;  // buffers; larger searches don't end in time
constexpr FitOrder orders[] = {FitOrder::tightest_time, FitOrder::size, FitOrder::area,
                               FitOrder::time};
// Sizes of the core, in buffers, tried in turn. On pangu_2.6B, 32, 64 and 96 reach the bound; 8 to
// 24, 48 and 128 stay up to 0.001% to 1.1% above it.
constexpr size_t core_sizes[] = {32, 64, 96, 16, 48, 128, 24, 8};

// Everything in units of the problem.
struct State {
  const OffsetProblem& p;
  int64_t goal;  // a height that is low enough
  Placement at;
  int64_t height, bound;

  bool done() const { return height <= goal; }
  void take(Placement found) {
    const int64_t h = height_of(p, found);
    if (!at.empty() && h >= height) return;
    at = std::move(found), height = h;
  }
};

int64_t best_fit_work(const State& s) {
  return static_cast<int64_t>(1500 * s.p.size());  // measured: about 1.5 us a buffer
}

// OffsetOptions::low, by buffer of the problem.
std::vector<bool> wish_of(const OffsetProblem& p, const std::vector<size_t>& low, size_t buffers) {
  std::vector<bool> wished(buffers), out;
  for (size_t i : low) wished[i] = true;
  for (const OffsetProblem::Buffer& b : p.buffers) out.push_back(wished[b.index]);
  return out;
}

// Whether a buffer that isn't low reaches the height. If only low ones do, turns the plan over if
// then another one does; returns false if that doesn't help.
bool other_on_top(const OffsetProblem& p, const std::vector<bool>& low, Placement& at) {
  const int64_t height = height_of(p, at);
  bool bottom = false;
  for (size_t i = 0; i < p.size(); ++i) {
    if (low[i]) continue;
    if (at[i] + p.buffers[i].size == height) return true;
    bottom |= at[i] == 0;
  }
  if (!bottom) return false;
  for (size_t i = 0; i < p.size(); ++i) at[i] = height - at[i] - p.buffers[i].size;
  return true;
}

void try_orders(State& s, int64_t& work) {
  for (FitOrder order : orders) {
    if (!s.at.empty() && (s.done() || work < best_fit_work(s))) return;
    s.take(best_fit(s.p, order, {}));
    work -= best_fit_work(s);
  }
}

void try_cores(State& s, int64_t& work) {
  for (size_t most : core_sizes) {
    if (s.done() || work < best_fit_work(s)) return;
    const int64_t share = std::min(work / 8, 5 * mega);
    int64_t left = share;
    const Placement core = place_core(s.p, s.goal, most, left);
    work -= share - left;
    if (core.empty()) continue;
    for (FitOrder order : orders) {
      if (s.done() || work < best_fit_work(s)) return;
      s.take(best_fit(s.p, order, {}, core));
      work -= best_fit_work(s);
    }
  }
}

// Bisects between the proven bound and the current height, starting at the goal, which gets most of
// the work where a capacity asks for it.
void search(State& s, int64_t work, bool capacity) {
  int64_t open = s.goal, probe = s.goal;  // below `open`: proven impossible, or given up
  while (work > 0 && !s.done() && open < s.height) {
    int64_t given = capacity && probe == s.goal ? work / 8 * 7 : (work + 1) / 2;
    work -= given;
    SearchResult r = search_placement(s.p, probe, given);
    work += std::max<int64_t>(given, 0);
    if (r.end == SearchEnd::found) s.take(std::move(r.at));
    if (r.end == SearchEnd::none) {
      s.bound = std::max(s.bound, probe + 1);
      s.goal = std::max(s.goal, s.bound);
    }
    if (r.end != SearchEnd::found) open = probe + 1;
    probe = open + (s.height - open) / 2;
  }
}

int64_t goal_of(const OffsetProblem& p, const OffsetOptions& o) {
  const int64_t enough =
      p.bound + p.bound / mega * o.waste_ppm + p.bound % mega * o.waste_ppm / mega;
  return o.capacity < 0 ? enough : std::max(enough, o.capacity / p.unit);
}

}  // namespace

int64_t largest_alive(const std::vector<Lifetime>& buffers, int64_t alignment) {
  const OffsetProblem p = make_offset_problem(buffers, alignment);
  return p.size() == 0 ? 0 : p.bound * p.unit;
}

Offsets plan_offsets(const std::vector<Lifetime>& buffers, const OffsetOptions& options) {
  const OffsetProblem p = make_offset_problem(buffers, options.alignment);
  Offsets plan;
  plan.offset.assign(buffers.size(), 0);
  plan.optimal = p.size() == 0;
  if (p.size() == 0) return plan;
  State s{p, goal_of(p, options), {}, 0, p.bound};
  const std::vector<bool> low = wish_of(p, options.low, buffers.size());
  Placement wished;
  if (!options.low.empty()) s.take(wished = best_fit(p, orders[0], low));
  int64_t fit_work = options.fit_mops * mega;
  try_orders(s, fit_work);
  try_cores(s, fit_work);
  if (p.size() <= max_searched) search(s, options.search_mops * mega, options.capacity >= 0);
  if (!wished.empty() && !other_on_top(p, low, s.at)) {
    other_on_top(p, low, wished);
    s.at = std::move(wished), s.height = height_of(p, s.at);
  }
  for (size_t i = 0; i < p.size(); ++i) plan.offset[p.buffers[i].index] = s.at[i] * p.unit;
  plan.height = s.height * p.unit;
  plan.lower_bound = s.bound * p.unit;
  plan.optimal = plan.height == plan.lower_bound;
  return plan;
}

Offsets plan_offsets(const std::vector<Lifetime>& buffers, int64_t alignment,
                     const std::vector<size_t>& low) {
  OffsetOptions options;
  options.alignment = alignment;
  options.low = low;
  options.waste_ppm = 500;
  options.fit_mops = 20 + static_cast<int64_t>(buffers.size() / 100);
  options.search_mops = 30;
  return plan_offsets(buffers, options);
}

}  // namespace cleave::plan
