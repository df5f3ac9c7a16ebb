// Floors: what follows from a border between two sections with different floors.
#include <algorithm>

#include "plan/offsets_floors.h"

namespace cleave::plan {
namespace {

// Of the unplaced buffers that end or begin at a border: all sums of more are too many.
constexpr size_t most_summed = 7;

}  // namespace

// base plus the size of each subset of the unplaced ones, in order; false if they are too many.
bool Floors::sums_of(AliveLists::List list, int64_t base, std::vector<int64_t>& sums) {
  sums.assign(1, base);
  for (const uint32_t i : list) {
    if (alive_.placed(i)) continue;
    const size_t half = sums.size();
    if (half >> most_summed) return false;
    for (size_t k = 0; k < half; ++k) sums.push_back(sums[k] + p_.buffers[i].size);
  }
  std::sort(sums.begin(), sums.end());
  work += static_cast<int64_t>(8 * sums.size());
  return true;
}

bool Floors::settle_border(int32_t s) {
  const int64_t below = floor_[at(s)], above = floor_[at(s + 1)];
  if (below == above || alive_.crossing(s) == 0) return true;
  if (!sums_of(alive_.last_in(s), below, ends_)) return true;
  if (!sums_of(alive_.first_in(s + 1), above, begins_)) return true;
  const int64_t slack_below = slack(s), slack_above = slack(s + 1);
  const auto crosses = [&](uint32_t j) { return p_.buffers[j].last > s + 1; };
  int64_t least = infinite;
  for (const uint32_t j : alive_.unplaced(s))
    if (crosses(j)) least = std::min(least, lowest_[j]);
  work += static_cast<int64_t>(2 * alive_.unplaced(s).size());
  int64_t offset = std::max({below, above, least});
  for (size_t e = 0, b = 0;;) {
    while (e < ends_.size() && ends_[e] + slack_below < offset) ++e;
    while (b < begins_.size() && begins_[b] + slack_above < offset) ++b;
    if (e == ends_.size() || b == begins_.size()) return false;
    const int64_t both = std::max({offset, ends_[e], begins_[b]});
    if (both == offset) break;
    offset = both;
  }
  if (offset == least) return true;
  for (const uint32_t j : alive_.unplaced(s))
    if (crosses(j) && lowest_[j] < offset) raise(j, offset);
  return true;
}

}  // namespace cleave::plan
