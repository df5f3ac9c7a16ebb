#include "plan/recompute_bound.h"

#include <algorithm>
#include <bit>
#include <iterator>

#include "plan/order.h"

namespace cleave::plan {
namespace {

__extension__ using Wide = __int128;

// The work limit for all cuts of a moment, in visited arcs of about 8 ns; graphs of some thousand
// tasks never come near it.
constexpr int64_t min_work = 5'000'000, looks_an_arc = 160;

// The time and bytes parts of a price, chosen so that a moment's capacities sum to less than 2^61.
struct Price {
  int64_t time = 1, bytes = 1;
};

// rise / run, to a precision of about 2^-20.
Price price_of(int64_t rise, int64_t run, int64_t all_time, int64_t all_bytes) {
  const Wide most = Wide{1} << 60;
  int64_t scale = int64_t{1} << 40;  // of the time
  while (scale > 1 && Wide{scale} * std::max<int64_t>(all_time, 1) > most) scale /= 2;
  for (; scale > 1; scale /= 2)
    if (Wide{scale} * rise / run * std::max<int64_t>(all_bytes, 1) <= most) break;
  const Wide bytes = (Wide{scale} * rise + run - 1) / run;
  if (bytes * std::max<int64_t>(all_bytes, 1) > most) return {1, 1};
  return {scale, std::max<int64_t>(1, static_cast<int64_t>(bytes))};
}

// ceil((time * t + bytes * b - room * b) / t) for the price (t, b).
int64_t proven(const MomentCut& cut, Price p, int64_t room) {
  const Wide value = Wide{cut.time} * p.time + Wide{cut.bytes - room} * p.bytes;
  if (value <= 0) return 0;
  return static_cast<int64_t>((value + p.time - 1) / p.time);
}

// The positions of the order that are above the limit, the fullest first, thinned out so that the
// moments are far apart.
std::vector<size_t> fullest_positions(const TaskGraph& graph, std::span<const TaskId> order,
                                      int64_t limit, size_t most) {
  const size_t n = order.size();
  std::vector<int64_t> change(n + 1, 0);
  std::vector<size_t> position(graph.size());
  for (size_t i = 0; i < n; ++i) position[order[i]] = i;
  for (size_t i = 0; i < n; ++i) {
    for (const ValueId x : graph.made_by(order[i])) {
      size_t end = graph.values[x].kept ? n - 1 : i;
      for (TaskId u : graph.users(x)) end = std::max(end, position[u]);
      change[i] += graph.values[x].bytes;
      change[end + 1] -= graph.values[x].bytes;
    }
  }
  std::vector<std::pair<int64_t, size_t>> full;
  int64_t live = 0;
  for (size_t i = 0; i < n; ++i) {
    live += change[i];
    const int64_t bytes = live + graph[order[i]].workspace;
    if (bytes > limit) full.emplace_back(-bytes, i);
  }
  std::sort(full.begin(), full.end());
  std::vector<size_t> positions;
  const size_t stride = std::max<size_t>(1, full.size() / std::max<size_t>(most, 1));
  for (size_t i = 0; i < full.size() && positions.size() < most; i += i < most / 2 ? 1 : stride)
    positions.push_back(full[i].second);
  return positions;
}

Moment moment_in_any_order(const TaskGraph& graph, TaskId q) {
  std::vector<Side> side(graph.size(), Side::open);
  side[q] = Side::before;
  std::vector<TaskId> walk{q};
  for (size_t i = 0; i < walk.size(); ++i)
    for (TaskId x : graph.before(walk[i]))
      if (side[x] == Side::open) {
        side[x] = Side::before;
        walk.push_back(x);
      }
  walk.assign(1, q);
  for (size_t i = 0; i < walk.size(); ++i)
    for (TaskId u : graph.after(walk[i]))
      if (side[u] == Side::open) {
        side[u] = Side::after;
        walk.push_back(u);
      }
  return Moment(graph, q, std::move(side));
}

template <class MakeMoment>
RecomputeBound largest(const TaskGraph& graph, const std::vector<size_t>& positions, int64_t limit,
                       int cuts, const MakeMoment& make) {
  RecomputeBound bound;
  bound.reachable = largest_task(graph) <= limit;
  if (!bound.reachable) return bound;
  for (const size_t position : positions) {
    const MomentBound at = bound_at(make(position), limit, cuts);
    bound.time = std::max(bound.time, at.time);
    bound.reachable = bound.reachable && at.reachable;
  }
  return bound;
}

}  // namespace

BoundEffort effort_for(size_t tasks) {
  if (tasks <= 2000) return {};
  return {is_large(tasks) ? size_t{1} : size_t{4}, 10};
}

Moment moment_in_order(const TaskGraph& graph, std::span<const TaskId> order, size_t at) {
  std::vector<Side> side(graph.size(), Side::after);
  for (size_t i = 0; i <= at; ++i) side[order[i]] = Side::before;
  return Moment(graph, order[at], std::move(side));
}

namespace {

// Of what `fits` runs again and `over` doesn't, the fewest of the first tasks that fit the room:
// equal layers run again all or none at any price, so no cut lies between the two.
MomentCut fewest_that_fit(const Moment& moment, const MomentCut& over, const MomentCut& fits,
                          int64_t room) {
  std::vector<TaskId> base = over.again, all = fits.again, extra;
  std::ranges::sort(base);
  std::ranges::sort(all);
  std::ranges::set_difference(all, base, std::back_inserter(extra));
  MomentCut best = fits;
  for (size_t few = 0, enough = extra.size(); enough - few > 1;) {
    const size_t half = few + (enough - few) / 2;
    std::vector<TaskId> again = base;
    again.insert(again.end(), extra.begin(), extra.begin() + static_cast<std::ptrdiff_t>(half));
    MomentCut cut = moment.running_again(again);
    const bool is_enough = cut.bytes <= room;
    (is_enough ? enough : few) = half;
    if (is_enough && cut.time < best.time) best = std::move(cut);
  }
  return best;
}

}  // namespace

// Given a cut that keeps too much and one that fits, the price at which both cost the same either
// yields a better cut, or proves that the line between them is on the hull.
MomentBound bound_at(const Moment& moment, int64_t limit, int max_cuts) {
  const int64_t room = limit - moment.needed_bytes();
  MomentBound result;
  result.fits = moment.keep_least();
  if (result.fits.bytes > room) {
    result.reachable = false;
    return result;
  }
  if (moment.keep_all().bytes <= room) {
    result.fits = moment.keep_all();
    return result;
  }
  MomentCut over = moment.keep_all(), fits = moment.keep_least();
  int64_t work = std::max(min_work, looks_an_arc * moment.size());
  for (int round = 0; round < max_cuts; ++round) {
    const int64_t rise = fits.time - over.time, run = over.bytes - fits.bytes;
    if (rise <= 0 || run <= 0) break;
    const Price price = price_of(rise, run, moment.all_time(), moment.all_bytes());
    std::optional<MomentCut> found = moment.at_price(price.time, price.bytes, work);
    if (!found) break;
    MomentCut cut = *std::move(found);
    result.time = std::max(result.time, proven(cut, price, room));
    const auto line = [&](const MomentCut& c) {
      return Wide{c.time} * price.time + Wide{c.bytes} * price.bytes;
    };
    const bool fresh = line(cut) < line(over) && line(cut) < line(fits);
    if (cut.bytes <= room) {
      if (cut.time <= result.fits.time) result.fits = cut;
      fits = std::move(cut);
    } else {
      over = std::move(cut);
    }
    if (!fresh) break;
  }
  if (MomentCut cut = fewest_that_fit(moment, over, fits, room); cut.time < result.fits.time)
    result.fits = std::move(cut);
  return result;
}

RecomputeBound bound_given_order(const TaskGraph& graph, std::span<const TaskId> order,
                                 int64_t limit, const BoundEffort& effort) {
  return largest(graph, fullest_positions(graph, order, limit, effort.moments), limit, effort.cuts,
                 [&](size_t position) { return moment_in_order(graph, order, position); });
}

RecomputeBound bound_any_order(const TaskGraph& graph, std::span<const TaskId> order, int64_t limit,
                               const BoundEffort& effort) {
  return largest(graph, fullest_positions(graph, order, limit, effort.moments), limit, effort.cuts,
                 [&](size_t position) { return moment_in_any_order(graph, order[position]); });
}

}  // namespace cleave::plan
