#include "cut/knapsack.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>

namespace cleave {
namespace {

__extension__ typedef __int128 int128;

constexpr int64_t quanta_of_range = 10'000;
constexpr int64_t max_bits = int64_t{1} << 33;
constexpr size_t max_states = size_t{1} << 26;

using Items = std::vector<KnapsackItem>;

Knapsack kept_of(const Items& items, std::vector<size_t> kept) {
  std::sort(kept.begin(), kept.end());
  Knapsack out{std::move(kept)};
  for (size_t i : out.kept) {
    out.memory += items[i].memory;
    out.value += items[i].value;
  }
  return out;
}

// Of the items that have a value.
int64_t total_memory(const Items& items) {
  int64_t sum = 0;
  for (const KnapsackItem& x : items)
    if (x.value > 0) sum += x.memory;
  return sum;
}

Knapsack keep_all(const Items& items) {
  std::vector<size_t> kept;
  for (size_t i = 0; i < items.size(); ++i)
    if (items[i].value > 0) kept.push_back(i);
  return kept_of(items, std::move(kept));
}

enum class Round : uint8_t { nearest, up };

int64_t quanta_of(int64_t memory, int64_t range, Round round) {
  const int128 scaled = int128{memory} * quanta_of_range;
  auto q = static_cast<int64_t>(scaled / range);
  const auto rest = static_cast<int64_t>(scaled % range);
  if (round == Round::up) return q + (rest > 0);
  const int128 twice = int128{rest} * 2;
  return q + (twice > range || (twice == range && q % 2 == 1));
}

double part_of(const KnapsackItem& x, const KnapsackFloats& floats) {
  return static_cast<double>(x.memory) / 1e9 / floats.range;
}

int64_t quanta_of(double part) {
  return static_cast<int64_t>(std::nearbyint(part * quanta_of_range));
}

// `floats`: instead of rounding to the nearest by integers.
Result<Knapsack> by_quanta(const Items& items, int64_t capacity, int64_t range, Round round,
                           const std::optional<KnapsackFloats>& floats = {}) {
  int64_t room = floats ? quanta_of(floats->budget) : quanta_of(capacity, range, round);
  if (round == Round::up && int128{room} * range > int128{capacity} * quanta_of_range) --room;
  std::vector<int64_t> size;
  int64_t whole = 0;
  for (const KnapsackItem& x : items) {
    size.push_back(floats ? quanta_of(part_of(x, *floats)) : quanta_of(x.memory, range, round));
    whole += x.value > 0 ? size.back() : 0;
  }
  room = std::min(room, whole);
  const auto width = static_cast<size_t>(room) + 1;
  if (int128{static_cast<int64_t>(width)} * std::ssize(items) > max_bits)
    return user_error(
        "knapsack: {} items of {} quanta are more than dp can hold; take greedy or ilp",
        items.size(), width);
  // In f32, like PyTorch's table: a value of 1 that is added to 2^24 flops is lost, and its item
  // isn't kept.
  std::vector<float> best(width);
  std::vector<std::vector<bool>> better(items.size());
  for (size_t i = 0; i < items.size(); ++i) {
    better[i].resize(width);
    if (items[i].value == 0) continue;
    for (int64_t j = room; j >= size[i]; --j) {
      const auto at = static_cast<size_t>(j);
      const float with =
          best[static_cast<size_t>(j - size[i])] + static_cast<float>(items[i].value);
      if (with <= best[at]) continue;
      best[at] = with;
      better[i][at] = true;
    }
  }
  std::vector<size_t> kept;
  for (size_t i = items.size(); i-- > 0;)
    if (better[i][static_cast<size_t>(room)]) {
      kept.push_back(i);
      room -= size[i];
    }
  return kept_of(items, std::move(kept));
}

Result<Knapsack> solve_dp(const Items& items, int64_t capacity, int64_t range,
                          const std::optional<KnapsackFloats>& floats) {
  CLEAVE_TRY(Knapsack near, by_quanta(items, capacity, range, Round::nearest, floats));
  if (near.memory <= capacity) return near;
  return by_quanta(items, capacity, range, Round::up);
}

// The items that have a value, in the order of falling value / memory, ties in their own order.
std::vector<size_t> by_density(const Items& items) {
  std::vector<size_t> order;
  for (size_t i = 0; i < items.size(); ++i)
    if (items[i].value > 0) order.push_back(i);
  std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) {
    return int128{items[a].value} * items[b].memory > int128{items[b].value} * items[a].memory;
  });
  return order;
}

Knapsack solve_greedy(const Items& items, int64_t capacity) {
  std::vector<size_t> kept;
  for (size_t i : by_density(items)) {
    if (items[i].memory > capacity) continue;
    capacity -= items[i].memory;
    kept.push_back(i);
  }
  return kept_of(items, std::move(kept));
}

Knapsack solve_greedy(const Items& items, int64_t capacity, const KnapsackFloats& floats) {
  std::vector<size_t> order, kept;
  for (size_t i = 0; i < items.size(); ++i)
    if (items[i].value > 0) order.push_back(i);
  const auto density = [&](size_t i) {
    return static_cast<double>(items[i].value) / part_of(items[i], floats);
  };
  std::ranges::stable_sort(order, [&](size_t a, size_t b) { return density(a) > density(b); });
  double sum = 0;
  for (size_t i : order) {
    const double with = sum + part_of(items[i], floats);
    if (with > floats.budget || items[i].memory > capacity) continue;
    sum = with;
    capacity -= items[i].memory;
    kept.push_back(i);
  }
  return kept_of(items, std::move(kept));
}

// An upper bound for the value that items [from, n) can add within a capacity: the fractional
// knapsack, in which a part of one item may be kept.
class Bound {
 public:
  Bound(const Items& items, const std::vector<size_t>& by_density, size_t from) {
    for (size_t i : by_density) {
      if (i < from) continue;
      memory_.push_back(memory_.back() + items[i].memory);
      value_.push_back(value_.back() + items[i].value);
    }
  }

  int64_t within(int64_t capacity) const {
    const auto end = std::upper_bound(memory_.begin(), memory_.end(), capacity);
    const auto whole = static_cast<size_t>(end - memory_.begin()) - 1;
    if (end == memory_.end()) return value_[whole];
    const int64_t memory = memory_[whole + 1] - memory_[whole];
    const int64_t value = value_[whole + 1] - value_[whole];
    return value_[whole] +
           static_cast<int64_t>(int128{value} * (capacity - memory_[whole]) / memory);
  }

 private:
  std::vector<int64_t> memory_ = {0}, value_ = {0};  // sums over the first k by density
};

struct State {
  int64_t memory = 0, value = 0;
};

// The value of the best state within a capacity, -1 if none is; states rise in memory and value.
int64_t best_within(const std::vector<State>& states, int64_t capacity) {
  const auto end = std::upper_bound(states.begin(), states.end(), capacity,
                                    [](int64_t c, const State& s) { return c < s.memory; });
  return end == states.begin() ? -1 : std::prev(end)->value;
}

// The Pareto-optimal states with and without an item; of equal states the one without it.
std::vector<State> with_item(const std::vector<State>& states, const KnapsackItem& item,
                             int64_t capacity) {
  std::vector<State> added, merged, out;
  for (const State& s : states)
    if (s.memory + item.memory <= capacity)
      added.push_back({s.memory + item.memory, s.value + item.value});
  std::merge(states.begin(), states.end(), added.begin(), added.end(), std::back_inserter(merged),
             [](const State& a, const State& b) {
               return a.memory != b.memory ? a.memory < b.memory : a.value > b.value;
             });
  for (const State& s : merged)
    if (out.empty() || s.value > out.back().value) out.push_back(s);
  return out;
}

// Equal items in chunks of 1, 2, 4, ... items, so that n of them are O(log n) items to the search.
struct Chunks {
  Items items;                             // a chunk's memory and value
  std::vector<size_t> kind, count;         // by chunk
  std::vector<std::vector<size_t>> equal;  // by kind: the items, rising
};

Chunks chunks_of(const Items& items) {
  Chunks out;
  std::map<std::pair<int64_t, int64_t>, size_t> kinds;
  for (size_t i = 0; i < items.size(); ++i) {
    if (items[i].value == 0) continue;
    const auto [at, fresh] = kinds.try_emplace({items[i].memory, items[i].value}, out.equal.size());
    if (fresh) out.equal.emplace_back();
    out.equal[at->second].push_back(i);
  }
  for (size_t kind = 0; kind < out.equal.size(); ++kind) {
    const KnapsackItem& one = items[out.equal[kind].front()];
    for (size_t left = out.equal[kind].size(), n = 1; left > 0;
         left -= n, n = std::min(2 * n, left)) {
      const auto times = static_cast<int64_t>(n);
      out.items.push_back({one.memory * times, one.value * times});
      out.kind.push_back(kind);
      out.count.push_back(n);
    }
  }
  return out;
}

Result<Knapsack> solve_exact(const Items& items, int64_t capacity) {
  const Chunks chunks = chunks_of(items);
  const std::vector<size_t> order = by_density(chunks.items);
  const int64_t known = solve_greedy(items, capacity).value;
  std::vector<std::vector<State>> after = {{State{}}};  // after[i]: of the first i chunks
  size_t states = 1;
  for (size_t i = 0; i < chunks.items.size(); ++i) {
    std::vector<State> next = with_item(after.back(), chunks.items[i], capacity);
    const Bound bound(chunks.items, order, i + 1);
    // A state that can't reach the value of the greedy solution is pruned; no state on the way to
    // the optimum is.
    std::erase_if(
        next, [&](const State& s) { return s.value + bound.within(capacity - s.memory) < known; });
    states += next.size();
    if (states > max_states)
      return user_error(
          "knapsack: more than {} states, so that an exact answer takes too much "
          "memory; take dp",
          max_states);
    after.push_back(std::move(next));
  }
  std::vector<size_t> kept_of_kind(chunks.equal.size());
  int64_t room = capacity, value = best_within(after.back(), capacity);
  for (size_t i = chunks.items.size(); i-- > 0;) {
    if (best_within(after[i], room) == value) continue;
    kept_of_kind[chunks.kind[i]] += chunks.count[i];
    room -= chunks.items[i].memory;
    value -= chunks.items[i].value;
  }
  std::vector<size_t> kept;
  for (size_t kind = 0; kind < kept_of_kind.size(); ++kind)
    for (size_t k = 0; k < kept_of_kind[kind]; ++k) kept.push_back(chunks.equal[kind][k]);
  return kept_of(items, std::move(kept));
}

}  // namespace

Result<Knapsack> solve_knapsack(const std::vector<KnapsackItem>& items, int64_t capacity,
                                int64_t range, KnapsackSolver solver,
                                const std::optional<KnapsackFloats>& floats) {
  int128 memory = 0, value = 0;
  for (const KnapsackItem& x : items) {
    if (x.memory < 0 || x.value < 0)
      return user_error("knapsack: an item of memory {} and value {}, expected neither negative",
                        x.memory, x.value);
    memory += x.memory;
    value += x.value;
  }
  constexpr int128 limit = int128{1} << 62;
  if (memory >= limit || value >= limit)
    return user_error("knapsack: memory or value sums to 2^62 or more");
  if (capacity < 0 || range < 1)
    return user_error("knapsack: capacity {} of range {}, expected at least 0 and 1", capacity,
                      range);
  if (total_memory(items) <= capacity && (!floats || solver == KnapsackSolver::ilp))
    return keep_all(items);
  switch (solver) {
    case KnapsackSolver::dp: return solve_dp(items, capacity, range, floats);
    case KnapsackSolver::greedy:
      return floats ? solve_greedy(items, capacity, *floats) : solve_greedy(items, capacity);
    case KnapsackSolver::ilp: return solve_exact(items, capacity);
  }
  return bug("knapsack: no such solver");
}

}  // namespace cleave
