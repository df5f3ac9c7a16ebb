// Offsets at a capacity that is filled to the last byte (test/plan/tight_buffers.h): how many sets
// of each kind and size reach it within two seconds, and how many sets that are too high by
// construction are refuted.
//
//   bench_tight_offsets [SETS]       of each kind and size; default 5
//
// `least` is how many per cent must reach it; a line below is marked, and the exit status is then
// 1. Kinds without a least are not mastered yet. Time is the thread's processor time.
#include <fmt/format.h>
#include <algorithm>
#include <cstdlib>
#include <string>

#include "bench/timing.h"
#include "plan/offsets.h"
#include "test/plan/tight_buffers.h"

namespace cleave {
namespace {

constexpr double most_seconds = 2;

struct Kind {
  const char* name;
  TightBuffers wanted;
  int64_t mastered;  // the largest size that must reach `least`
};
constexpr int least = 95;
const Kind kinds[] = {
    {"cuts", {}, 2000},
    {"long", {.at_times = 30}, 2000},
    {"short", {.at_times = 75}, 2000},
    {"pinwheels", {.pinwheels = 30}, 500},
    {"half gone", {.gaps = 50, .pinwheels = 10}, 2000},
    {"20% gone", {.gaps = 20, .pinwheels = 10}, 200},
    {"5% gone", {.gaps = 5, .pinwheels = 10}, 0},
    {"few moments", {.pinwheels = 10, .moments = 0}, 200},  // half as many as buffers
};

class Tally {
 public:
  // Right is a plan within the capacity, or a proof that there is none, in time. After a proof the
  // planner goes on to a low plan above the capacity, which here gets less work.
  void add(const std::vector<plan::Lifetime>& buffers, int64_t capacity, bool fits) {
    const double begin = bench::thread_seconds();
    const plan::Offsets p = plan::plan_offsets(
        buffers, {.capacity = capacity, .fit_mops = 20000, .search_mops = fits ? 3500 : 500});
    const double seconds = bench::thread_seconds() - begin;
    value_or_throw(plan::verify_offsets(buffers, 1, p));
    const bool right = fits ? p.height <= capacity : p.lower_bound > capacity;
    right_ += right && seconds <= most_seconds;
    ++sets_;
    buffers_ += buffers.size();
    sum_ += seconds;
    worst_ = std::max(worst_, seconds);
  }
  bool print(const char* name, int64_t size, bool asked) const {
    const bool enough = 100 * right_ >= least * sets_;
    fmt::print("{:<14}{:>6}{:>9}{:>7} of {:<4}{:>8.3f}{:>9.3f}{}\n", name, size,
               buffers_ / static_cast<size_t>(sets_), right_, sets_, sum_ / sets_, worst_,
               !asked   ? ""
               : enough ? "   asked"
                        : "   asked !");
    return enough || !asked;
  }

 private:
  int right_ = 0, sets_ = 0;
  size_t buffers_ = 0;
  double sum_ = 0, worst_ = 0;
};

// Eight buffers of which at most 15 are ever alive, but which need 17, between two sets of pieces
// of 16, and beside a part of the capacity that is taken all the time.
std::vector<plan::Lifetime> too_high(int64_t count, uint64_t seed) {
  constexpr int64_t part = TightSplit::capacity / 16, end = 1 << 20;
  std::vector<plan::Lifetime> out = TightSplit({.count = count / 2}, seed).buffers();
  for (const plan::Lifetime& b : TightSplit({.count = count / 2}, seed + 1).buffers())
    out.push_back({b.lower + end + 14, b.upper + end + 14, b.size});
  for (const plan::Lifetime& b : {plan::Lifetime{6, 10, 5},
                                  {0, 1, 6},
                                  {10, 14, 9},
                                  {6, 8, 3},
                                  {1, 7, 7},
                                  {1, 6, 7},
                                  {8, 12, 6},
                                  {7, 9, 4}})
    out.push_back({b.lower + end, b.upper + end, b.size * part});
  out.push_back({0, 2 * end + 14, TightSplit::capacity});
  return out;
}

bool run(int sets) {
  bool all = true;
  fmt::print("{:<14}{:>6}{:>9}{:>14}{:>8}{:>9}\n", "kind", "size", "buffers", "right in 2 s",
             "mean s", "worst s");
  for (const int64_t size : {200, 500, 1000, 2000}) {
    for (const Kind& kind : kinds) {
      Tally tally;
      TightBuffers wanted = kind.wanted;
      wanted.count = size;
      if (wanted.moments == 0) wanted.moments = size / 2;
      for (int k = 0; k < sets; ++k)
        tally.add(TightSplit(wanted, static_cast<uint64_t>(1000 * size + k)).buffers(),
                  TightSplit::capacity, true);
      all &= tally.print(kind.name, size, size <= kind.mastered);
    }
    Tally tally;
    for (int k = 0; k < sets; ++k)
      tally.add(too_high(size, static_cast<uint64_t>(1000 * size + k)), 2 * TightSplit::capacity,
                false);
    all &= tally.print("too high", size, size <= 500);
  }
  return all;
}

}  // namespace
}  // namespace cleave

int main(int argc, char** argv) {
  try {
    return cleave::run(argc > 1 ? std::max(1, std::atoi(argv[1])) : 5) ? 0 : 1;
  } catch (const cleave::Error& e) {
    fmt::print(stderr, "{}\n", e.what());
    return 1;
  }
}
