// Convolutions against plain loops in double: every product and dtype; shapes with strides,
// padding, dilation, groups, positions too few and too many; the same bits on one thread and five.
// tests: convolution_image.cpp convolution_weight.cpp convolution_windows.cpp
// tests: convolution_windows_avx512.cpp convolution_direct.cpp convolution_direct_weight.cpp
// tests: convolution_planes.cpp direct_block.cpp direct_block_avx512.cpp direct_block_avx2.cpp
// tests: direct_block_plain.cpp convolution_band.cpp convolution_depthwise.cpp
// tests: convolution_depthwise_weight.cpp convolution_channels_last.cpp
#include "runtime/convolution.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstring>
#include <random>
#include <vector>

#include "runtime/convolution_windows.h"
#include "runtime/half.h"
#include "test/claimed_threads.h"
#include "test/targets.h"

namespace cleave::runtime {
namespace {

using Product = ConvolutionProduct;

size_t count_of(int64_t n) { return static_cast<size_t>(n); }

int64_t large_numbers(const ConvolutionSpec& s) {
  return s.images * s.large_channels * product_of(s.large);
}
int64_t small_numbers(const ConvolutionSpec& s) {
  return s.images * s.small_channels * product_of(s.small);
}
int64_t weight_numbers(const ConvolutionSpec& s) {
  return s.small_channels * (s.large_channels / s.groups) * product_of(s.kernel);
}

// Calls f(large, weight, small) with the elements of every term.
template <class F>
void for_each_term(const ConvolutionSpec& s, const F& f) {
  const int64_t inner = s.large_channels / s.groups, rows = s.small_channels / s.groups;
  const auto index = [](const Sizes3& size, const Sizes3& at) {
    return (at[0] * size[1] + at[1]) * size[2] + at[2];
  };
  const auto place = [](const Sizes3& size, int64_t i) {
    return Sizes3{i / size[2] / size[1], i / size[2] % size[1], i % size[2]};
  };
  for (int64_t n = 0; n < s.images; ++n)
    for (int64_t c = 0; c < s.small_channels; ++c)
      for (int64_t o = 0; o < product_of(s.small); ++o)
        for (int64_t l = 0; l < inner; ++l)
          for (int64_t t = 0; t < product_of(s.kernel); ++t) {
            const Sizes3 out = place(s.small, o), tap = place(s.kernel, t);
            Sizes3 in;
            bool inside = true;
            for (size_t d = 0; d < 3; ++d) {
              in[d] = out[d] * s.stride[d] - s.padding[d] + tap[d] * s.dilation[d];
              inside = inside && in[d] >= 0 && in[d] < s.large[d];
            }
            if (!inside) continue;
            const auto at = [&](int64_t outer, int64_t channels, int64_t channel, int64_t positions,
                                int64_t position) {
              return s.channels_last ? (outer * positions + position) * channels + channel
                                     : (outer * channels + channel) * positions + position;
            };
            f(at(n, s.large_channels, c / rows * inner + l, product_of(s.large),
                 index(s.large, in)),
              at(c, inner, l, product_of(s.kernel), t),
              at(n, s.small_channels, c, product_of(s.small), o));
          }
}

template <class T>
double wide(T x) {
  if constexpr (std::is_same_v<T, double>)
    return x;
  else
    return static_cast<double>(static_cast<float>(x));
}
template <class T>
T narrow(double x) {
  if constexpr (std::is_same_v<T, double>)
    return x;
  else
    return static_cast<T>(static_cast<float>(x));
}

template <class T>
std::vector<T> numbers(int64_t count, std::mt19937& random) {
  std::uniform_real_distribution<double> any(-1, 1);
  std::vector<T> out(count_of(count));
  for (T& x : out) x = narrow<T>(any(random));
  return out;
}

template <class T>
std::vector<T> run(const ConvolutionSpec& s, const std::vector<T>& image,
                   const std::vector<T>& other, const std::vector<T>& bias, int64_t results,
                   Executor& executor, const Target& target) {
  const auto convolution = value_or_throw(Convolution::make(s, target));
  std::vector<T> out(count_of(results), narrow<T>(std::nan("")));
  // Scratch with arbitrary contents, and a guard after it.
  const size_t bytes = count_of(convolution->scratch_bytes());
  std::vector<char> room(bytes + 128, char{0x7f});
  void* scratch = room.data();
  size_t space = room.size();
  std::align(64, bytes, scratch, space);
  convolution->run({image.data(), other.data(), s.has_bias ? bias.data() : nullptr, out.data()},
                   scratch, executor);
  for (const char* p = static_cast<char*>(scratch) + bytes; p < room.data() + room.size(); ++p)
    EXPECT_EQ(*p, char{0x7f}) << "written after the scratch";
  return out;
}

template <class T>
void check(ConvolutionSpec s, Product product, bool has_bias, double tolerance,
           const Target& target) {
  s.product = product;
  s.has_bias = has_bias;
  std::mt19937 random(7);
  const auto large = numbers<T>(large_numbers(s), random);
  const auto small = numbers<T>(small_numbers(s), random);
  const auto weight = numbers<T>(weight_numbers(s), random);
  const int64_t channels = product == Product::to_small ? s.small_channels : s.large_channels;
  const auto bias = numbers<T>(channels, random);
  const auto& image = product == Product::to_large ? small : large;
  const auto& other = product == Product::to_weight ? small : weight;
  const size_t results = product == Product::to_small   ? small.size()
                         : product == Product::to_large ? large.size()
                                                        : weight.size();
  std::vector<double> want(results), size(results);
  for_each_term(s, [&](int64_t i, int64_t j, int64_t k) {
    const size_t l = count_of(i), w = count_of(j), o = count_of(k);
    const size_t to = product == Product::to_small ? o : product == Product::to_large ? l : w;
    const double a = product == Product::to_large ? wide(small[o]) : wide(large[l]);
    const double b = product == Product::to_weight ? wide(small[o]) : wide(weight[w]);
    want[to] += a * b;
    size[to] += std::abs(a * b);
  });
  if (has_bias)
    for (size_t i = 0; i < results; ++i)
      want[i] += wide(bias[(s.channels_last ? i : i / (results / count_of(s.images * channels))) %
                           count_of(channels)]);
  const auto on = [&](Executor& executor) {
    return run(s, image, other, bias, static_cast<int64_t>(results), executor, target);
  };
  const auto got = on(*make_thread_pool(1));
  for (size_t i = 0; i < results; ++i)
    ASSERT_NEAR(wide(got[i]), want[i], tolerance * (1 + std::abs(want[i])) + 1e-6 * size[i])
        << name_of(s.dtype) << " product " << static_cast<int>(product) << " at " << i;
  const auto again = on(*make_thread_pool(5));
  EXPECT_EQ(std::memcmp(got.data(), again.data(), results * sizeof(T)), 0) << "5 threads";
  for (const int threads : {3, 16}) {
    test::ClaimedThreads many(threads);
    const auto others = on(many);
    EXPECT_EQ(std::memcmp(got.data(), others.data(), results * sizeof(T)), 0) << threads;
  }
}

void check_all(ConvolutionSpec s, const Target& target = Target::here()) {
  for (const Product p : {Product::to_small, Product::to_large, Product::to_weight})
    for (const bool bias : {false, true}) {
      if (bias && p == Product::to_weight) continue;
      s.dtype = DType::f32;
      check<float>(s, p, bias, 1e-6, target);
      s.dtype = DType::f64;
      check<double>(s, p, bias, 1e-13, target);
      s.dtype = DType::bf16;
      check<Bf16>(s, p, bias, 8e-3, target);
      s.dtype = DType::f16;
      check<F16>(s, p, bias, 1e-3, target);
    }
}

ConvolutionSpec spec(int64_t images, int64_t large_channels, Sizes3 large, int64_t small_channels,
                     Sizes3 kernel, Sizes3 stride, Sizes3 padding, Sizes3 dilation,
                     int64_t groups = 1) {
  ConvolutionSpec s;
  s.images = images, s.large_channels = large_channels, s.small_channels = small_channels;
  s.groups = groups;
  s.large = large, s.kernel = kernel, s.stride = stride, s.padding = padding;
  s.dilation = dilation;
  for (size_t d = 0; d < 3; ++d)
    s.small[d] = (large[d] + 2 * padding[d] - dilation[d] * (kernel[d] - 1) - 1) / stride[d] + 1;
  return s;
}

constexpr Sizes3 ones = {1, 1, 1}, none = {0, 0, 0};

TEST(Convolution, kernels_of_three) {
  check_all(spec(2, 5, {1, 9, 11}, 13, {1, 3, 3}, ones, {0, 1, 1}, ones));
  check_all(spec(3, 17, {1, 4, 4}, 14, {1, 3, 3}, ones, {0, 1, 1}, ones));
  check_all(spec(1, 3, {1, 20, 37}, 5, {1, 3, 3}, ones, {0, 1, 1}, ones));
}

TEST(Convolution, strides) {
  check_all(spec(2, 3, {1, 23, 19}, 8, {1, 7, 7}, {1, 2, 2}, {0, 3, 3}, ones));
  check_all(spec(2, 6, {1, 8, 8}, 7, {1, 3, 3}, {1, 2, 2}, {0, 1, 1}, ones));
  check_all(spec(2, 4, {1, 10, 9}, 5, {1, 2, 3}, {1, 3, 4}, {0, 1, 0}, ones));
  check_all(spec(1, 2, {1, 5, 70}, 3, {1, 2, 2}, {1, 1, 3}, {0, 0, 2}, {1, 1, 2}));
}

TEST(Convolution, kernels_of_one) {
  check_all(spec(2, 19, {1, 5, 7}, 40, ones, ones, none, ones));
  check_all(spec(2, 8, {1, 16, 20}, 5, ones, ones, none, ones));
  check_all(spec(2, 9, {1, 7, 8}, 6, ones, {1, 2, 2}, none, ones));
  check_all(spec(1, 3, {1, 2, 2}, 2, ones, ones, {0, 1, 1}, ones));
}

TEST(Convolution, dilation_and_wide_padding) {
  check_all(spec(2, 3, {1, 13, 12}, 4, {1, 3, 2}, ones, {0, 5, 4}, {1, 3, 2}));
  check_all(spec(1, 2, {1, 1, 3}, 3, {1, 1, 3}, ones, {0, 0, 6}, ones));
}

TEST(Convolution, groups_and_depthwise) {
  check_all(spec(2, 12, {1, 6, 7}, 8, {1, 3, 3}, ones, {0, 1, 1}, ones, 4));
  check_all(spec(2, 7, {1, 8, 17}, 7, {1, 3, 3}, ones, {0, 1, 1}, ones, 7));
  check_all(spec(2, 3, {1, 9, 8}, 6, {1, 3, 3}, {1, 2, 2}, {0, 1, 1}, ones, 3));
  check_all(spec(1, 64, {1, 8, 8}, 64, ones, ones, none, ones, 2));
}

// Those that aren't products, by every set of vectors.
TEST(Convolution, groups_of_few_channels) {
  for (const Target& target : cleave::test::targets_here()) {
    const auto check_few = [&](const ConvolutionSpec& s) { check_all(s, target); };
    check_few(spec(2, 3, {1, 20, 37}, 3, {1, 3, 3}, ones, {0, 1, 1}, ones, 3));
    check_few(spec(3, 5, {1, 7, 7}, 5, {1, 7, 7}, ones, {0, 3, 3}, ones, 5));
    check_few(spec(2, 6, {1, 14, 40}, 6, {1, 5, 5}, {1, 2, 2}, {0, 2, 2}, ones, 6));
    check_few(spec(1, 2, {1, 30, 71}, 2, {1, 3, 3}, {1, 2, 2}, {0, 0, 0}, ones, 2));
    check_few(spec(2, 4, {1, 9, 90}, 8, {1, 3, 5}, {1, 3, 4}, {0, 1, 2}, {1, 2, 1}, 4));
    check_few(spec(2, 8, {1, 11, 13}, 6, {1, 3, 3}, ones, {0, 1, 1}, ones, 2));
    check_few(spec(1, 16, {1, 7, 9}, 14, {1, 3, 3}, {1, 2, 1}, {0, 1, 1}, ones, 2));
    check_few(spec(1, 32, {1, 5, 9}, 24, {1, 3, 3}, ones, {0, 1, 1}, ones, 2));
    check_few(spec(1, 6, {3, 5, 18}, 3, {2, 3, 3}, {2, 2, 2}, {1, 1, 1}, ones, 3));
    check_few(spec(40, 2, {1, 8, 8}, 2, {1, 3, 3}, ones, {0, 1, 1}, ones, 2));
    check_few(spec(2, 3, {1, 1, 2}, 3, {1, 1, 1}, {1, 1, 8}, {0, 0, 3}, ones, 3));
    check_few(spec(1, 2, {1, 4, 50}, 2, {1, 2, 9}, {1, 1, 9}, {0, 0, 2}, ones, 2));
    check_few(spec(1, 2, {1, 4, 50}, 2, {1, 2, 9}, {1, 1, 8}, {0, 0, 2}, ones, 2));
    check_few(spec(2, 19, {1, 9, 11}, 19, {1, 3, 3}, ones, {0, 1, 1}, ones, 19));
    check_few(spec(3, 16, {1, 7, 7}, 16, {1, 7, 7}, ones, {0, 3, 3}, ones, 16));
    check_few(spec(2, 9, {1, 14, 40}, 9, {1, 5, 5}, {1, 2, 2}, {0, 2, 2}, ones, 9));
    check_few(spec(1, 8, {1, 30, 71}, 8, {1, 3, 2}, {1, 2, 3}, {0, 0, 0}, {1, 2, 3}, 8));
    check_few(spec(1, 8, {1, 2, 2}, 8, {1, 1, 1}, {1, 3, 3}, {0, 2, 2}, ones, 8));
    check_few(spec(1, 17, {1, 40, 120}, 17, {1, 3, 3}, ones, {0, 1, 1}, ones, 17));
    check_few(spec(1, 8, {1, 60, 110}, 8, {1, 3, 3}, {1, 2, 2}, {0, 1, 1}, ones, 8));
    // Images of a piece that don't fit a band: rows above the next one are zeros again.
    check_few(spec(17, 8, {1, 60, 60}, 8, {1, 3, 3}, ones, {0, 1, 1}, ones, 8));
    check_few(spec(1, 2, {1, 34, 130}, 2, {1, 3, 3}, ones, {0, 1, 1}, ones, 2));
  }
}

// Wide images of few results, which aren't products either: rows in pieces, by every set.
TEST(Convolution, wide_images_of_few_results) {
  for (const Target& target : cleave::test::targets_here()) {
    check_all(spec(2, 5, {1, 50, 34}, 16, {1, 3, 3}, ones, {0, 1, 1}, ones), target);
    check_all(spec(1, 9, {1, 70, 33}, 3, {1, 5, 3}, ones, {0, 2, 1}, ones), target);
    check_all(spec(1, 4, {1, 110, 40}, 2, {1, 2, 3}, ones, {0, 0, 4}, {1, 3, 2}), target);
    check_all(spec(3, 1, {1, 1, 200}, 30, {1, 1, 7}, ones, {0, 0, 3}, ones), target);
    check_all(spec(1, 3, {4, 9, 36}, 5, {2, 3, 3}, ones, {1, 1, 1}, ones), target);
  }
}

TEST(Convolution, one_and_three_dims) {
  check_all(spec(3, 4, {1, 1, 50}, 6, {1, 1, 5}, {1, 1, 2}, {0, 0, 2}, ones));
  check_all(spec(2, 3, {4, 5, 6}, 4, {2, 3, 2}, {2, 1, 1}, {1, 1, 0}, {1, 1, 2}));
}

TEST(Convolution, positions_that_are_not_there_and_too_many) {
  ConvolutionSpec s = spec(2, 3, {1, 9, 9}, 4, {1, 3, 3}, {1, 2, 2}, {0, 1, 1}, ones);
  s.small = {1, 3, 4};
  check_all(s);
  s.small = {1, 6, 7};
  check_all(s);
}

TEST(Convolution, weights_summed_in_parts) {
  check_all(spec(2, 2, {1, 40, 60}, 3, {1, 3, 3}, ones, {0, 1, 1}, ones));
  check_all(spec(1, 4, {1, 33, 99}, 4, {1, 3, 3}, ones, {0, 1, 1}, ones, 2));
}

TEST(Convolution, many_steps_and_pieces) {
  check_all(spec(2, 70, {1, 6, 6}, 130, {1, 3, 3}, ones, {0, 1, 1}, ones));
  check_all(spec(1, 600, {1, 3, 3}, 30, ones, ones, none, ones));
}

// Also rows and images of one position, with any stride.
TEST(Convolution, small_shapes_of_every_kind) {
  std::mt19937 random(5);
  const auto any = [&](int64_t from, int64_t to) {
    return from + static_cast<int64_t>(random() % static_cast<uint64_t>(to - from + 1));
  };
  for (int round = 0; round < 150; ++round) {
    Sizes3 large = ones, kernel = ones, stride = ones, padding = none, dilation = ones;
    for (size_t d = static_cast<size_t>(any(0, 2)); d < 3; ++d) {
      kernel[d] = any(1, 3), stride[d] = any(1, 3), dilation[d] = any(1, 2), padding[d] = any(0, 2);
      const int64_t least = dilation[d] * (kernel[d] - 1) + 1 - 2 * padding[d];
      large[d] = std::max(least, int64_t{1}) + any(0, 4);
    }
    const bool is_depthwise = any(0, 3) == 0;
    const int64_t groups = is_depthwise ? any(8, 20) : any(1, 4);
    const int64_t ins = is_depthwise ? 1 : any(1, 3), outs = is_depthwise ? 1 : any(1, 3);
    check_all(spec(any(1, 3), groups * ins, large, groups * outs, kernel, stride, padding, dilation,
                   groups));
  }
}

TEST(Convolution, channels_last) {
  const auto check_last = [](ConvolutionSpec s) {
    s.channels_last = true;
    check_all(s);
  };
  check_last(spec(2, 5, {1, 9, 11}, 13, {1, 3, 3}, {1, 2, 1}, {0, 1, 1}, ones));
  check_last(spec(3, 6, {1, 4, 37}, 4, {1, 1, 3}, ones, {0, 0, 2}, {1, 1, 2}, 2));
  check_last(spec(1, 19, {1, 9, 8}, 19, {1, 3, 3}, ones, {0, 1, 1}, ones, 19));
  check_last(spec(2, 3, {4, 5, 6}, 4, {2, 3, 2}, {2, 1, 1}, {1, 1, 0}, ones));
}

TEST(Convolution, what_is_refused) {
  ConvolutionSpec s = spec(1, 2, {1, 4, 4}, 2, ones, ones, none, ones);
  s.dtype = DType::i32;
  EXPECT_FALSE(Convolution::make(s, Target::here()).ok());
  s.dtype = DType::f32;
  s.groups = 3;
  EXPECT_FALSE(Convolution::make(s, Target::here()).ok());
  s.groups = 1;
  s.channels_last = s.relu = true;
  EXPECT_FALSE(Convolution::make(s, Target::here()).ok());
}

// S: the type in memory.
template <class S>
void expect_same_packing(const WindowPacking& fast, const WindowPacking& plain) {
  std::mt19937 random(3);
  for (int round = 0; round < 200; ++round) {
    const auto any = [&](int64_t from, int64_t to) {
      return from + static_cast<int64_t>(random() % static_cast<uint64_t>(to - from + 1));
    };
    const Sizes3 step = {1, any(1, 2), any(1, 3)};
    std::vector<Sizes3> taps;
    for (int64_t t = any(1, 12); t > 0; --t) taps.push_back({0, any(-3, 3), any(-9, 9)});
    const WindowSource shape{.size = {1, any(1, 6), any(1, 40)},
                             .positions = {1, any(1, 6), any(1, 40)},
                             .stride = step,
                             .taps = taps.data(),
                             .tap_count = std::ssize(taps),
                             .nr = 32};
    const int64_t channels = any(1, 7), images = 3;
    WindowSource w = shape;
    w.image_stride = channels * product_of(w.size);
    const auto in = numbers<S>(images * w.image_stride, random);
    w.images = in.data();
    for (const bool transposed : {false, true}) {
      const int64_t inner = channels * w.tap_count, outer = images * product_of(w.positions);
      const int64_t k = transposed ? outer : inner, n = transposed ? inner : outer;
      const int64_t first = any(0, k - 1), count = std::min(any(1, 90), k - first);
      const int64_t column = any(0, n - 1), columns = std::min(any(1, 32), n - column);
      std::vector<float> a(count_of(count * 32), 5), b(a);
      (transposed ? fast.transposed : fast.windows)(&w, first, count, column, columns, a.data());
      (transposed ? plain.transposed : plain.windows)(&w, first, count, column, columns, b.data());
      ASSERT_EQ(a, b) << round;
    }
  }
}

// The packing for this processor equals the one for any processor.
TEST(WindowPacking, is_the_same_for_every_processor) {
  if (Target::here().set < InstructionSet::avx2) GTEST_SKIP();
  expect_same_packing<float>(window_packing_avx2, window_packing_plain(DType::f32));
  expect_same_packing<Bf16>(window_packing_avx2_bf16, window_packing_plain(DType::bf16));
  expect_same_packing<F16>(window_packing_avx2_f16, window_packing_plain(DType::f16));
  if (Target::here().set < InstructionSet::avx512) return;
  expect_same_packing<float>(window_packing_avx512, window_packing_plain(DType::f32));
  expect_same_packing<Bf16>(window_packing_avx512_bf16, window_packing_plain(DType::bf16));
  expect_same_packing<F16>(window_packing_avx512_f16, window_packing_plain(DType::f16));
}

}  // namespace
}  // namespace cleave::runtime
