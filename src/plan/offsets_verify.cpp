// Checks of offset problems and plans, independent of the planner.
#include <algorithm>
#include <map>
#include <tuple>

#include "plan/offsets.h"

namespace cleave::plan {
namespace {

constexpr int64_t largest_sum = int64_t{1} << 62;

struct Event {
  int64_t time;
  bool begins;
  size_t buffer;
};

Status check_buffer(const Lifetime& b, size_t i, int64_t alignment, const Offsets& plan) {
  const int64_t at = plan.offset[i];
  if (at < 0 || at % alignment)
    return bug("plan: offset {} of buffer {} is no multiple of {}", at, i, alignment);
  if (plan.height < b.size || at > plan.height - b.size)
    return bug("plan: buffer {} ends above the height {}", i, plan.height);
  return {};
}

}  // namespace

Status check_lifetimes(const std::vector<Lifetime>& buffers, int64_t alignment) {
  if (alignment < 1 || alignment > largest_sum / 2)
    return user_error("alignment {}: expected 1 or more, and less than 2^61", alignment);
  int64_t sum = 0;
  for (size_t i = 0; i < buffers.size(); ++i) {
    const Lifetime& b = buffers[i];
    if (b.size < 0) return user_error("buffer {}: the size {} is negative", i, b.size);
    if (b.lower >= b.upper)
      return user_error("buffer {}: lower {} is not below upper {}", i, b.lower, b.upper);
    int64_t length = 0;
    if (__builtin_sub_overflow(b.upper, b.lower, &length))
      return user_error("buffer {}: the lifetime [{}, {}) is too long", i, b.lower, b.upper);
    if (b.size > largest_sum - alignment || b.size + alignment > largest_sum - sum)
      return user_error("buffer {}: the sum of all sizes passes 2^62 here", i);
    if (b.size > 0) sum += (b.size - 1) / alignment * alignment + alignment;
  }
  return {};
}

Status verify_offsets(const std::vector<Lifetime>& buffers, int64_t alignment,
                      const Offsets& plan) {
  if (plan.offset.size() != buffers.size())
    return bug("plan: {} offsets for {} buffers", plan.offset.size(), buffers.size());
  if (plan.height < plan.lower_bound)
    return bug("plan: the height {} is below the bound {}", plan.height, plan.lower_bound);
  // Sweeps over time; live buffers are kept by offset, so that only neighbours need comparing.
  std::vector<Event> events;
  for (size_t i = 0; i < buffers.size(); ++i) {
    const Lifetime& b = buffers[i];
    if (b.size == 0 || b.lower >= b.upper) continue;
    CLEAVE_CHECK(check_buffer(b, i, alignment, plan));
    events.push_back({b.lower, true, i});
    events.push_back({b.upper, false, i});
  }
  std::sort(events.begin(), events.end(), [](const Event& x, const Event& y) {
    return std::tie(x.time, x.begins, x.buffer) < std::tie(y.time, y.begins, y.buffer);
  });
  std::map<int64_t, size_t> alive;
  for (const Event& e : events) {
    const int64_t at = plan.offset[e.buffer];
    if (!e.begins) {
      alive.erase(at);
      continue;
    }
    auto next = alive.lower_bound(at);
    if (next != alive.end() && next->first < at + buffers[e.buffer].size)
      return bug("plan: buffers {} and {} overlap", e.buffer, next->second);
    if (next != alive.begin())
      if (auto prev = std::prev(next); prev->first + buffers[prev->second].size > at)
        return bug("plan: buffers {} and {} overlap", prev->second, e.buffer);
    alive.emplace(at, e.buffer);
  }
  return {};
}

}  // namespace cleave::plan
