#include "plan/offsets.h"

#include <algorithm>
#include <functional>
#include <map>
#include <numeric>
#include <tuple>

namespace cleave::plan {
namespace {

int64_t round_up(int64_t v, int64_t a) { return (v + a - 1) / a * a; }

int64_t largest_alive(const std::vector<Lifetime>& buffers, int64_t alignment) {
  std::map<int64_t, int64_t> change;  // step -> bytes that begin minus bytes that end
  for (const Lifetime& b : buffers) {
    change[b.lower] += round_up(b.size, alignment);
    change[b.upper] -= round_up(b.size, alignment);
  }
  int64_t alive = 0, most = 0;
  for (const auto& [step, delta] : change) most = std::max(most, alive += delta);
  return most;
}

// Places buffers in the given order, each at the lowest gap among those placed that it meets.
Offsets place(const std::vector<Lifetime>& buffers, const std::vector<size_t>& order,
              int64_t alignment) {
  Offsets plan;
  plan.offset.assign(buffers.size(), 0);
  std::vector<size_t> placed;  // sorted by offset
  for (size_t i : order) {
    const Lifetime& b = buffers[i];
    if (b.size == 0) continue;
    const int64_t need = round_up(b.size, alignment);
    int64_t at = 0;
    for (size_t j : placed) {
      const Lifetime& o = buffers[j];
      if (o.lower >= b.upper || b.lower >= o.upper) continue;
      if (plan.offset[j] - at >= need) break;
      at = std::max(at, plan.offset[j] + round_up(o.size, alignment));
    }
    plan.offset[i] = at;
    plan.height = std::max(plan.height, at + need);
    placed.insert(
        std::upper_bound(placed.begin(), placed.end(), i,
                         [&](size_t x, size_t y) { return plan.offset[x] < plan.offset[y]; }),
        i);
  }
  return plan;
}

}  // namespace

Offsets plan_offsets(const std::vector<Lifetime>& buffers, int64_t alignment,
                     const std::vector<size_t>& low) {
  std::vector<bool> is_low(buffers.size());
  for (size_t i : low) is_low[i] = true;
  auto length = [](const Lifetime& b) { return b.upper - b.lower; };
  using Key = std::pair<int64_t, int64_t>;  // larger first
  const std::vector<std::function<Key(const Lifetime&)>> keys = {
      [&](const Lifetime& b) { return Key{b.size, length(b)}; },
      [&](const Lifetime& b) { return Key{length(b), b.size}; },
      [&](const Lifetime& b) { return Key{b.size / 64 * length(b), b.size}; },
      [&](const Lifetime& b) { return Key{-b.lower, b.size}; },
  };
  const int64_t bound = largest_alive(buffers, alignment);
  Offsets best;
  for (const auto& key : keys) {
    std::vector<size_t> order(buffers.size());
    std::iota(order.begin(), order.end(), size_t{0});
    std::stable_sort(order.begin(), order.end(), [&](size_t x, size_t y) {
      if (is_low[x] != is_low[y]) return static_cast<bool>(is_low[x]);
      return key(buffers[x]) > key(buffers[y]);
    });
    Offsets plan = place(buffers, order, alignment);
    if (best.offset.empty() || plan.height < best.height) best = std::move(plan);
    if (best.height == bound) break;
  }
  best.lower_bound = bound;
  return best;
}

Status verify_offsets(const std::vector<Lifetime>& buffers, int64_t alignment,
                      const Offsets& plan) {
  if (plan.offset.size() != buffers.size())
    return bug("plan: {} offsets for {} buffers", plan.offset.size(), buffers.size());
  // Sweep over steps; the buffers alive are kept by offset, so that only neighbours need comparing.
  struct Event {
    int64_t step;
    bool begins;
    size_t buffer;
  };
  std::vector<Event> events;
  for (size_t i = 0; i < buffers.size(); ++i) {
    const Lifetime& b = buffers[i];
    if (b.size == 0 || b.lower >= b.upper) continue;
    if (plan.offset[i] < 0 || plan.offset[i] % alignment)
      return bug("plan: offset {} of buffer {}", plan.offset[i], i);
    if (plan.offset[i] + b.size > plan.height)
      return bug("plan: buffer {} ends above the height", i);
    events.push_back({b.lower, true, i});
    events.push_back({b.upper, false, i});
  }
  std::sort(events.begin(), events.end(), [](const Event& x, const Event& y) {
    return std::tie(x.step, x.begins, x.buffer) < std::tie(y.step, y.begins, y.buffer);
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
