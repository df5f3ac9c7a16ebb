// Lines in order, and the first elements of lines, on two threads.
//
//   bench_sort          every setting as a table row
//   bench_sort NAME     one setting as one JSON object: ms
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <random>
#include <vector>

#include "bench/timing.h"
#include "cleave/executor.h"
#include "library/spec.h"
#include "run/run_context.h"
#include "runtime/sort.h"

namespace {

using namespace cleave;

struct Setting {
  const char* name;
  SortSpec spec;
};

// Normal numbers, or integers below 1000.
constexpr Setting settings[] = {
    {"f32_1x1000000", {.length = 1000000, .count = 1000000}},
    {"f32_4096x256", {.outer = 4096, .length = 256, .count = 256}},
    {"f32_64x32768", {.outer = 64, .length = 32768, .count = 32768}},
    {"i64_1x1000000", {.dtype = DType::i64, .length = 1000000, .count = 1000000}},
    {"f32_1x1000000_top10", {.length = 1000000, .count = 10, .is_descending = true}},
    {"f32_256x50257_top50", {.outer = 256, .length = 50257, .count = 50, .is_descending = true}},
    {"f32_8192x64_top2", {.outer = 8192, .length = 64, .count = 2, .is_descending = true}},
};

double measure(const SortSpec& s) {
  const auto f = value_or_throw(runtime::make_sort(s));
  const auto lines = static_cast<size_t>(s.outer * s.inner);
  const size_t elements = lines * static_cast<size_t>(s.length);
  std::vector<float> floats(elements);
  std::vector<int64_t> integers(s.dtype == DType::i64 ? elements : 0);
  std::mt19937 random(1);
  std::normal_distribution<float> normal;
  for (float& x : floats) x = normal(random);
  for (int64_t& x : integers) x = static_cast<int64_t>(random() % 1000);
  std::vector<int64_t> values(lines * static_cast<size_t>(s.count)), indices(values.size());
  const auto bytes = static_cast<size_t>(f->scratch_bytes() + 64) / 64 * 64;
  const std::unique_ptr<void, decltype(&std::free)> scratch(std::aligned_alloc(64, bytes),
                                                            std::free);
  void* self = integers.empty() ? static_cast<void*>(floats.data()) : integers.data();
  void* at[max_library_operands] = {self, values.data(), indices.data()};
  const auto executor = make_thread_pool(2);
  return bench::median_ms([&] { f->call(at, scratch.get(), {*executor}); });
}

}  // namespace

int main(int argc, char** argv) {
  for (const Setting& s : settings) {
    if (argc > 1 && std::strcmp(argv[1], s.name) != 0) continue;
    const double ms = measure(s.spec);
    if (argc > 1)
      std::printf("{\"ms\":%.4f}\n", ms);
    else
      std::printf("%-22s %10.3f ms\n", s.name, ms);
  }
}
