// Sorted lines beside std::stable_sort, of every dtype: lengths around the chunks of long lines,
// equal elements, NaN, signed zeros, several threads.
#include "runtime/sort.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <limits>
#include <numeric>
#include <random>
#include <vector>

#include "cleave/executor.h"
#include "library/spec.h"
#include "run/run_context.h"
#include "runtime/half.h"
#include "test/runtime/gemm_kernels.h"

namespace cleave::runtime {
namespace {

constexpr int64_t chunk = 1 << 15;

template <class T>
bool is_before(T a, T b, bool descending) {
  if (descending) std::swap(a, b);
  if constexpr (std::is_integral_v<T>) return a < b;
  using Number = std::conditional_t<std::is_same_v<T, double>, double, float>;
  const auto x = static_cast<Number>(a), y = static_cast<Number>(b);
  return std::isnan(y) ? !std::isnan(x) : x < y;  // false where only x is NaN
}

// The first elements of each line in order, by the standard library.
template <class T>
std::vector<int64_t> expected_indices(const SortSpec& s, const std::vector<T>& self) {
  std::vector<int64_t> out(s.outer * s.count * s.inner);
  std::vector<int64_t> line(s.length);
  for (int64_t o = 0; o < s.outer; ++o)
    for (int64_t i = 0; i < s.inner; ++i) {
      const auto at = [&](int64_t j) { return self[(o * s.length + j) * s.inner + i]; };
      std::iota(line.begin(), line.end(), 0);
      std::ranges::stable_sort(
          line, [&](int64_t a, int64_t b) { return is_before(at(a), at(b), s.is_descending); });
      for (int64_t j = 0; j < s.count; ++j) out[(o * s.count + j) * s.inner + i] = line[j];
    }
  return out;
}

template <class T>
void expect_sorted(const SortSpec& s, const std::vector<T>& self, int threads) {
  SCOPED_TRACE(fmt::format("{} {} of [{},{},{}], {}", name_of(s.dtype), s.count, s.outer, s.length,
                           s.inner, s.is_descending ? "descending" : "ascending"));
  const LibraryFunctionPtr f = value_or_throw(make_sort(s));
  const std::vector<int64_t> expected = expected_indices(s, self);
  std::vector<T> values(expected.size());
  std::vector<int64_t> indices(expected.size(), -1);
  void* at[max_library_operands] = {const_cast<T*>(self.data()), values.data(), indices.data()};
  const auto pool = make_thread_pool(threads);
  f->call(at, test::make_scratch(f->scratch_bytes()).get(), {*pool});
  ASSERT_EQ(indices, expected);
  const auto source = [&](size_t k) {
    const auto i = static_cast<int64_t>(k) % s.inner;
    const auto o = static_cast<int64_t>(k) / s.inner / s.count;
    return self[(o * s.length + indices[k]) * s.inner + i];
  };
  for (size_t k = 0; k < values.size(); ++k) {
    const T from = source(k);
    ASSERT_EQ(std::memcmp(&values[k], &from, sizeof(T)), 0) << k;  // with the sign of a zero
  }

  // The values alone, and the indices alone.
  std::vector<T> only(values.size());
  std::vector<int64_t> only_indices(values.size(), -1);
  at[SortOperand::values] = only.data(), at[SortOperand::indices] = nullptr;
  f->call(at, test::make_scratch(f->scratch_bytes()).get(), {*pool});
  at[SortOperand::values] = nullptr, at[SortOperand::indices] = only_indices.data();
  f->call(at, test::make_scratch(f->scratch_bytes()).get(), {*pool});
  EXPECT_EQ(std::memcmp(only.data(), values.data(), only.size() * sizeof(T)), 0);
  EXPECT_EQ(only_indices, indices);
}

// Of `kinds` different numbers; with NaN, infinities and both zeros where the type has them.
template <class T>
std::vector<T> drawn(int64_t count, int64_t kinds, std::mt19937_64& random) {
  std::vector<T> out(count);
  std::vector<T> from(kinds);
  for (T& x : from) {
    if constexpr (std::is_integral_v<T>)
      x = static_cast<T>(random());
    else
      x = static_cast<T>(static_cast<float>(std::normal_distribution<double>()(random)));
  }
  if constexpr (!std::is_integral_v<T>) {
    const float special[] = {NAN, -NAN, INFINITY, -INFINITY, 0.0f, -0.0f};
    for (size_t k = 0; k < std::size(special) && k < from.size(); ++k) from[k] = T(special[k]);
  }
  for (T& x : out) x = from[random() % from.size()];
  return out;
}

template <class T>
void sort_all(DType dtype) {
  std::mt19937_64 random(static_cast<uint64_t>(dtype) + 1);
  int threads = 0;  // of 1 to 16
  for (const bool descending : {false, true})
    for (const auto& [outer, length, inner] : {std::array<int64_t, 3>{1, 1, 1},
                                               {3, 2, 5},
                                               {2, 255, 1},
                                               {1, 256, 3},
                                               {70, 33, 2},
                                               {1, 5000, 1},
                                               {2, chunk, 1},
                                               {1, chunk + 1, 2},
                                               {1, 5 * chunk - 7, 1}})
      for (const int64_t count :
           {int64_t{1}, length / 300, length / 5, length / 3, length - 1, length})
        if (count > 0)
          expect_sorted<T>({.dtype = dtype,
                            .outer = outer,
                            .length = length,
                            .inner = inner,
                            .count = count,
                            .is_descending = descending},
                           drawn<T>(outer * length * inner, 1 + length / 2, random),
                           threads = (threads + 5) % 16 + 1);
}

TEST(Sort, f64) { sort_all<double>(DType::f64); }
TEST(Sort, f32) { sort_all<float>(DType::f32); }
TEST(Sort, bf16) { sort_all<Bf16>(DType::bf16); }
TEST(Sort, f16) { sort_all<F16>(DType::f16); }
TEST(Sort, i64) { sort_all<int64_t>(DType::i64); }
TEST(Sort, i32) { sort_all<int32_t>(DType::i32); }
TEST(Sort, i16) { sort_all<int16_t>(DType::i16); }
TEST(Sort, i8) { sort_all<int8_t>(DType::i8); }
TEST(Sort, u8) { sort_all<uint8_t>(DType::u8); }

TEST(Sort, what_has_no_order_is_refused) {
  EXPECT_FALSE(make_sort({.dtype = DType::c64, .length = 2, .count = 2}).ok());
  EXPECT_FALSE(make_sort({.length = 2, .count = 3}).ok());
  EXPECT_FALSE(make_sort({.length = (int64_t{1} << 32) + 1, .count = 3}).ok());
}

}  // namespace
}  // namespace cleave::runtime
