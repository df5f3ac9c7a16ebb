// Convolutions that read windows in place beside those that pack them: the same bits, of any shape
// that both cover, with a packed weight, an end, any number of threads, on every set of vectors.
// tests: convolution_in_place.cpp convolution_in_place_cut.cpp convolution_in_place_rule.cpp
#include "runtime/convolution_in_place.h"

#include <gtest/gtest.h>

#include <cstring>
#include <random>
#include <vector>

#include "library/gemm_spec.h"
#include "runtime/convolution_products.h"
#include "runtime/half.h"
#include "test/claimed_threads.h"
#include "test/targets.h"

namespace cleave::runtime {
namespace {

class Random {
 public:
  explicit Random(uint32_t seed) : random_(seed) {}
  int64_t any(int64_t from, int64_t to) {
    return from + static_cast<int64_t>(random_() % static_cast<uint64_t>(to - from + 1));
  }
  std::vector<char> numbers(int64_t count, DType dtype) {
    std::vector<char> out(static_cast<size_t>(count * size_of(dtype)));
    for (int64_t i = 0; i < count; ++i) {
      const float x = std::uniform_real_distribution<float>(-1, 1)(random_);
      const auto put = [&](auto y) { std::memcpy(out.data() + i * size_of(dtype), &y, sizeof y); };
      if (dtype == DType::bf16)
        put(Bf16(x));
      else if (dtype == DType::f16)
        put(F16(x));
      else
        put(x);
    }
    return out;
  }

 private:
  std::mt19937 random_;
};

struct Case {
  ConvolutionSpec spec;
  std::vector<char> image, weight, packed, bias, added;
  size_t results = 0;
};

Case draw(Random& r, ConvolutionProduct product, DType dtype) {
  Case c;
  ConvolutionSpec& s = c.spec;
  s.product = product;
  s.dtype = dtype;
  const bool is_long = r.any(0, 9) == 0;
  s.images = r.any(1, is_long ? 2 : 6);
  s.large_channels = r.any(1, is_long ? 230 : 20) * (r.any(0, 3) == 0 ? 8 : 1);
  s.small_channels = r.any(1, 20) * (r.any(0, 3) == 0 ? 8 : 1);
  for (size_t d = 1; d < 3; ++d) {
    s.kernel[d] = r.any(1, 4), s.stride[d] = r.any(1, 3), s.dilation[d] = r.any(1, 2);
    s.padding[d] = r.any(0, 3);
    const int64_t least = s.dilation[d] * (s.kernel[d] - 1) + 1 - 2 * s.padding[d];
    s.large[d] = std::max(least, int64_t{1}) + r.any(0, is_long ? 4 : 30);
    s.small[d] =
        (s.large[d] + 2 * s.padding[d] - s.dilation[d] * (s.kernel[d] - 1) - 1) / s.stride[d] + 1;
    if (r.any(0, 9) == 0) s.small[d] = std::max<int64_t>(1, s.small[d] + r.any(-1, 1));
  }
  s.has_bias = r.any(0, 1) == 0;
  const bool to_small = product == ConvolutionProduct::to_small;
  s.has_added = to_small && dtype == DType::f32 && r.any(0, 2) == 0;
  s.relu = to_small && dtype == DType::f32 && r.any(0, 2) == 0;
  const int64_t large = s.images * s.large_channels * product_of(s.large);
  const int64_t small = s.images * s.small_channels * product_of(s.small);
  c.image = r.numbers(to_small ? large : small, dtype);
  c.results = static_cast<size_t>((to_small ? small : large) * size_of(dtype));
  const int64_t k = s.large_channels * product_of(s.kernel);
  c.weight = r.numbers(s.small_channels * k, dtype);
  c.bias = r.numbers(to_small ? s.small_channels : s.large_channels, dtype);
  if (s.has_added) c.added = r.numbers(small, dtype);
  if (!to_small || dtype != DType::f32) return c;
  const int64_t panels = (s.small_channels + gemm_panel - 1) / gemm_panel;
  c.packed.assign(static_cast<size_t>(panels * k * gemm_panel) * sizeof(float), char{0x7f});
  for (int64_t i = 0; i < s.small_channels; ++i)
    for (int64_t p = 0; p < k; ++p)
      std::memcpy(c.packed.data() +
                      ((i / gemm_panel * k + p) * gemm_panel + i % gemm_panel) * sizeof(float),
                  c.weight.data() + (i * k + p) * sizeof(float), sizeof(float));
  return c;
}

std::vector<char> result_of(const Convolution& convolution, const Case& c, bool packed,
                            Executor& executor) {
  const auto bytes = static_cast<size_t>(convolution.scratch_bytes());
  std::vector<char> room(bytes + 128, char{0x7f}), out(c.results, char{0x7f});
  void* scratch = room.data();
  size_t space = room.size();
  std::align(64, bytes, scratch, space);
  // A run before it with another image leaves planes in the scratch, which aren't this one's.
  for (const bool again : {false, true}) {
    const std::vector<char> other(c.image.size());
    convolution.run(
        {again ? c.image.data() : other.data(), packed ? c.packed.data() : c.weight.data(),
         c.spec.has_bias ? c.bias.data() : nullptr, out.data(),
         c.spec.has_added ? c.added.data() : nullptr},
        scratch, executor);
  }
  for (const char* p = static_cast<char*>(scratch) + bytes; p < room.data() + room.size(); ++p)
    EXPECT_EQ(*p, char{0x7f}) << "written after the scratch";
  return out;
}

void expect_same(const Case& c, InstructionSet set) {
  ASSERT_TRUE(covers_in_place(c.spec, set));
  test::ClaimedThreads one(1);
  const std::vector<char> want = result_of(*make_image_product(c.spec, set), c, false, one);
  const auto in_place = make_in_place_product(c.spec, set);
  for (const int threads : {1, 3, 16}) {
    test::ClaimedThreads some(threads);
    ASSERT_EQ(want, result_of(*in_place, c, false, some)) << threads << " threads";
  }
  ASSERT_EQ(want, result_of(*in_place, c, false, *make_thread_pool(5))) << "5 threads";
  if (c.packed.empty()) return;
  ConvolutionSpec packed = c.spec;
  packed.weight_packed = true;
  ASSERT_EQ(want, result_of(*make_in_place_product(packed, set), c, true, one)) << "packed";
}

TEST(InPlace, has_the_bits_of_packed_windows) {
  Random r(11);
  for (const Target& target : cleave::test::targets_here()) {
    if (target.set < InstructionSet::avx2) continue;
    for (int round = 0; round < 60; ++round)
      for (const DType dtype : {DType::f32, DType::bf16, DType::f16})
        for (const auto product : {ConvolutionProduct::to_small, ConvolutionProduct::to_large}) {
          if (dtype == DType::bf16 && target.set >= InstructionSet::avx512bf16) continue;
          SCOPED_TRACE(fmt::format("round {} {}", round, name_of(dtype)));
          expect_same(draw(r, product, dtype), target.set);
          if (HasFatalFailure()) return;
        }
  }
}

// More of k than a span: totals in f64.
TEST(InPlace, has_the_bits_of_long_sums) {
  Random r(12);
  Case c = draw(r, ConvolutionProduct::to_small, DType::f32);
  ConvolutionSpec& s = c.spec;
  s = {.images = 2, .large_channels = 2800, .small_channels = 40};
  s.large = s.small = {1, 4, 5}, s.kernel = {1, 3, 3}, s.padding = {0, 1, 1};
  s.has_bias = true;
  c.image = r.numbers(s.images * s.large_channels * 20, s.dtype);
  c.weight = r.numbers(s.small_channels * s.large_channels * 9, s.dtype);
  c.bias = r.numbers(s.small_channels, s.dtype);
  c.packed.clear();
  c.results = static_cast<size_t>(s.images * s.small_channels * 20) * sizeof(float);
  for (const Target& target : cleave::test::targets_here())
    if (target.set >= InstructionSet::avx2) expect_same(c, target.set);
}

// A row is more than a piece should have, at the widest that is covered.
TEST(InPlace, has_the_bits_of_wide_rows) {
  Random r(13);
  for (const auto product : {ConvolutionProduct::to_small, ConvolutionProduct::to_large})
    for (const int64_t stride : {1, 2}) {
      Case c = draw(r, product, DType::f32);
      ConvolutionSpec& s = c.spec;
      s = {.product = product, .images = 2, .large_channels = 5, .small_channels = 33};
      s.large = {1, 3, 1024}, s.kernel = {1, 3, 3}, s.padding = {0, 1, 1};
      s.stride = {1, 1, stride}, s.small = {1, 3, 1024 / stride};
      const bool to_small = product == ConvolutionProduct::to_small;
      const int64_t large = s.images * s.large_channels * product_of(s.large);
      const int64_t small = s.images * s.small_channels * product_of(s.small);
      c.image = r.numbers(to_small ? large : small, s.dtype);
      c.weight = r.numbers(s.small_channels * s.large_channels * 9, s.dtype);
      c.packed.clear();
      c.results = static_cast<size_t>(to_small ? small : large) * sizeof(float);
      for (const Target& target : cleave::test::targets_here())
        if (target.set >= InstructionSet::avx2) expect_same(c, target.set);
      s.large[2] = 1025;
      EXPECT_FALSE(covers_in_place(s, InstructionSet::avx512));
    }
}

TEST(InPlace, covers_no_groups_no_depth_and_no_pairs) {
  ConvolutionSpec s{.images = 2, .large_channels = 64, .small_channels = 64};
  s.large = s.small = {1, 16, 16}, s.kernel = {1, 3, 3}, s.padding = {0, 1, 1};
  EXPECT_TRUE(is_in_place(s, InstructionSet::avx2));
  EXPECT_TRUE(is_in_place(s, InstructionSet::avx512));
  EXPECT_FALSE(covers_in_place(s, InstructionSet::neon));
  ConvolutionSpec other = s;
  other.groups = 2;
  EXPECT_FALSE(covers_in_place(other, InstructionSet::avx512));
  other = s;
  other.large[0] = other.small[0] = 2;
  EXPECT_FALSE(covers_in_place(other, InstructionSet::avx512));
  other = s;
  other.dtype = DType::bf16;
  EXPECT_TRUE(covers_in_place(other, InstructionSet::avx2));
  EXPECT_FALSE(covers_in_place(other, InstructionSet::avx512bf16));
  other = s;
  other.large_channels = int64_t{1} << 40;
  EXPECT_FALSE(covers_in_place(other, InstructionSet::avx512));
}

}  // namespace
}  // namespace cleave::runtime
