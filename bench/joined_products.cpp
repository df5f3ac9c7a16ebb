// Eight independent products of different small shapes: one by one, and as one job of the executor
// (LibraryFunction::call_joined). Microseconds, the least of many runs, which take turns.
//
//   bench_joined_products [THREADS...]     default: 1 2
//
// Shapes: m 64 to 256, n and k 64 to 512; and with all sizes a half and a quarter of that.
#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <random>
#include <vector>

#include "bench/timing.h"
#include "library/spec.h"
#include "run/run_context.h"
#include "runtime/library.h"
#include "runtime/thread_pool.h"

namespace {

using namespace cleave;

struct Shape {
  int64_t m, n, k;
};
constexpr Shape shapes[] = {{64, 64, 512},   {256, 128, 64}, {128, 512, 96}, {96, 64, 64},
                            {200, 256, 128}, {64, 384, 256}, {160, 96, 320}, {112, 192, 192}};

std::vector<float> numbers(int64_t count, uint32_t seed) {
  std::mt19937 rng(seed);
  std::normal_distribution<float> normal;
  std::vector<float> out(static_cast<size_t>(count));
  for (float& x : out) x = normal(rng);
  return out;
}

struct Product {
  Product(const Shape& s, uint32_t seed)
      : function(value_or_throw(runtime::make_library_function(
            GemmSpec{.m = s.m, .n = s.n, .k = s.k, .a_row = s.k, .b_row = s.n}, Target::here()))),
        a(numbers(s.m * s.k, seed)), b(numbers(s.k * s.n, seed + 1)), c(numbers(s.m * s.n, 0)),
        scratch(static_cast<size_t>(function->scratch_bytes()) + 64) {
    at[GemmOperand::a] = a.data();
    at[GemmOperand::b] = b.data();
    at[GemmOperand::c] = c.data();
  }
  LibraryRun run() {
    const auto address = reinterpret_cast<uintptr_t>(scratch.data());
    return {function.get(), at, scratch.data() + (64 - address % 64) % 64};
  }
  LibraryFunctionPtr function;
  std::vector<float> a, b, c;
  std::vector<std::byte> scratch;
  void* at[max_library_operands] = {};
};

}  // namespace

int main(int argc, char** argv) {
  std::vector<int> threads;
  for (int i = 1; i < argc; ++i) threads.push_back(std::atoi(argv[i]));
  if (threads.empty()) threads = {1, 2};
  fmt::print("{:>8} {:>7} {:>11} {:>8} {:>6}\n", "shapes", "threads", "one by one", "one job", "");
  for (const int64_t part : {4, 2, 1})
    for (const int count : threads) {
      const auto executor = value_or_throw(runtime::start_threads(count));
      const RunContext context{*executor};
      std::vector<Product> products;
      for (const Shape& s : shapes)
        products.emplace_back(Shape{s.m / part, s.n / part, s.k / part}, 1);
      std::vector<LibraryRun> runs;
      for (Product& p : products) runs.push_back(p.run());
      double apart = 1e9, joined = 1e9;
      for (int i = 0; i < 5000; ++i) {
        auto begin = bench::Clock::now();
        for (const LibraryRun& r : runs) r.function->call(r.operands, r.scratch, context);
        apart = std::min(apart, 1e3 * bench::ms_since(begin));
        begin = bench::Clock::now();
        runs[0].function->call_joined(runs, context);
        joined = std::min(joined, 1e3 * bench::ms_since(begin));
      }
      fmt::print("{:>8} {:7} {:11.1f} {:8.1f} {:6.2f}\n", fmt::format("1/{}", part), count, apart,
                 joined, joined / apart);
    }
}
