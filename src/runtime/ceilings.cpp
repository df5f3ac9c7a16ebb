#include "runtime/ceilings.h"

#include <algorithm>
#include <chrono>
#include <cstring>
#include <vector>

#include "runtime/arena.h"
#include "runtime/gemm.h"

namespace cleave::runtime {
namespace {

constexpr size_t copied_bytes = 64 << 20;
constexpr int copies = 7, pieces = 64, products = 15;
constexpr int64_t product_rows = 768;

template <class F>
double min_us(int times, const F& run) {
  using Clock = std::chrono::steady_clock;
  double best = 1e300;
  for (int k = 0; k < times; ++k) {
    const auto begin = Clock::now();
    run();
    best = std::min(best, std::chrono::duration<double, std::micro>(Clock::now() - begin).count());
  }
  return best;
}

}  // namespace

double copy_bytes_per_us(Executor& executor) {
  const std::vector<std::byte> from(copied_bytes, std::byte{1});
  std::vector<std::byte> to(copied_bytes);
  struct Copy {
    const std::byte* from;
    std::byte* to;
  } copy{from.data(), to.data()};
  const double us = min_us(copies, [&] {
    executor.parallel_for(
        pieces,
        [](void* context, long piece) {
          const auto& c = *static_cast<Copy*>(context);
          const size_t part = copied_bytes / pieces, at = part * static_cast<size_t>(piece);
          std::memcpy(c.to + at, c.from + at, part);
        },
        &copy);
  });
  return 2.0 * static_cast<double>(copied_bytes) / us;
}

double product_flops_per_us(Executor& executor, DType dtype, const Target& target) {
  const int64_t n = product_rows;
  const Result<std::shared_ptr<Gemm>> made =
      Gemm::make({.dtype = dtype, .m = n, .n = n, .k = n, .a_row = n, .b_row = n}, target);
  if (!made.ok()) return 0;
  const Gemm& gemm = **made;
  const auto bytes = static_cast<size_t>(n * n * size_of(dtype));
  const std::vector<std::byte> a(bytes), b(bytes);
  std::vector<std::byte> c(bytes);
  Result<Arena> scratch = Arena::make(gemm.scratch_bytes());
  if (!scratch.ok()) return 0;
  const double us = min_us(products, [&] {
    gemm.run(a.data(), b.data(), nullptr, c.data(), scratch->data(), executor);
  });
  return 2.0 * static_cast<double>(n) * static_cast<double>(n) * static_cast<double>(n) / us;
}

}  // namespace cleave::runtime
