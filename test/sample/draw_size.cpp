#include "test/sample/draw_size.h"

#include <algorithm>
#include <numeric>

namespace cleave::random {
namespace {

constexpr int64_t max_met = int64_t{1} << 22;

uint64_t below(std::mt19937_64& rng, uint64_t n) { return rng() % n; }

// A threshold may count elements, rows or bytes (elements have 1 to 8 bytes), so fractions and
// multiples of it are drawn too.
int64_t near_threshold(std::mt19937_64& rng, int64_t most) {
  const std::vector<Threshold>& all = thresholds();  // by value
  const auto end = std::ranges::upper_bound(all, 8 * most, {}, &Threshold::value);
  const Threshold& t =
      all[below(rng, static_cast<uint64_t>(std::max<int64_t>(end - all.begin(), 1)))];
  constexpr int64_t up[] = {1, 1, 1, 1, 2, 3, 5}, down[] = {1, 1, 1, 2, 4, 8};
  const int64_t at = t.value * up[below(rng, std::size(up))] / down[below(rng, std::size(down))];
  return at + static_cast<int64_t>(below(rng, 3)) - 1;
}

int64_t prime(std::mt19937_64& rng, int64_t most) {
  constexpr int64_t primes[] = {2,  3,  5,   7,   11,  13,  17,  19,  23,  31,   37,   61,
                                67, 97, 127, 131, 251, 257, 509, 521, 997, 1021, 1031, 2053};
  const auto end = std::upper_bound(std::begin(primes), std::end(primes), most);
  const auto n = static_cast<uint64_t>(end - std::begin(primes));
  return n == 0 ? 1 : primes[below(rng, n)];
}

}  // namespace

const std::vector<Threshold>& thresholds() {
  static const std::vector<Threshold> all = [] {
    std::vector<Threshold> out;
    const auto add = [&](const char* name, uint64_t value, const char* file) {
      if (value >= 2 && value <= max_met) out.push_back({name, static_cast<int64_t>(value), file});
    };
#define CLEAVE_THRESHOLD(name, value, file) add(#name, value, file);
#include "thresholds.inc"
#undef CLEAVE_THRESHOLD
    std::ranges::stable_sort(out, {}, &Threshold::value);
    return out;
  }();
  return all;
}

int64_t draw_size(std::mt19937_64& rng, int64_t least, int64_t most) {
  if (most <= least) return least;
  const auto range = static_cast<uint64_t>(most - least);
  constexpr int tries = 8;
  for (int k = 0; k < tries; ++k) {
    int64_t n = 1;
    switch (below(rng, 10)) {
      case 0: n = 1; break;
      case 1:
      case 2: n = prime(rng, most); break;
      case 3:
        n = 2 * static_cast<int64_t>(below(rng, std::min<uint64_t>(range, 40) / 2 + 1)) + 1;
        break;
      case 4:
      case 5: n = 2 + static_cast<int64_t>(below(rng, std::min<uint64_t>(range, 30) + 1)); break;
      case 6: n = least + static_cast<int64_t>(below(rng, range + 1)); break;
      default: n = near_threshold(rng, most);
    }
    if (n >= least && n <= most) return n;
  }
  return least + static_cast<int64_t>(below(rng, std::min<uint64_t>(range, 8) + 1));
}

std::vector<int64_t> draw_shape(std::mt19937_64& rng, size_t rank, int64_t elements) {
  std::vector<int64_t> out(rank, 1);
  std::vector<size_t> order(rank);
  std::iota(order.begin(), order.end(), 0);
  std::shuffle(order.begin(), order.end(), rng);
  int64_t room = elements;
  for (size_t k = 0; k < rank; ++k) {
    // The first dim may get all elements, so that long rows and long columns occur.
    const bool all = k == 0 && below(rng, 3) == 0;
    const int64_t most = all ? room : std::max<int64_t>(1, std::min<int64_t>(room, 300));
    int64_t n = draw_size(rng, 1, most);
    if (k == 1 && below(rng, 4) == 0)  // with the first one a threshold
      n = std::clamp<int64_t>(
          near_threshold(rng, elements) / out[order[0]] + static_cast<int64_t>(below(rng, 2)), 1,
          room);
    out[order[k]] = n;
    room = std::max<int64_t>(1, room / n);
  }
  return out;
}

}  // namespace cleave::random
