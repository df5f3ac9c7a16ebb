// Convolutions whose weight was packed beforehand: the bits of the convolution with the weight.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "cleave/cleave.h"
#include "library/gemm_spec.h"
#include "runtime/convolution.h"
#include "test/claimed_threads.h"
#include "test/targets.h"

namespace cleave::runtime {
namespace {

struct Case {
  int64_t images, channels, size, out, kernel, stride;
};

HostTensor packed(const HostTensor& weight, int64_t rows, int64_t inner) {
  HostTensor out(DType::f32, {(rows + gemm_panel - 1) / gemm_panel, inner, gemm_panel});
  for (int64_t s = 0; s < rows; ++s)
    for (int64_t p = 0; p < inner; ++p)
      out.at<float>({s / gemm_panel, p, s % gemm_panel}) = weight.data<float>()[s * inner + p];
  return out;
}

HostTensor result(const ConvolutionSpec& s, const Target& target, const HostTensor& image,
                  const HostTensor& weight, const HostTensor& bias, const HostTensor& added = {},
                  int threads = 2) {
  const auto function = value_or_throw(Convolution::make(s, target));
  HostTensor scratch(DType::u8, {function->scratch_bytes()});  // aligned to 64
  HostTensor out(DType::f32, {s.images, s.small_channels, s.small[1], s.small[2]});
  test::ClaimedThreads many(threads);
  const auto two = make_thread_pool(2);
  function->run({image.data(), weight.data(), s.has_bias ? bias.data() : nullptr, out.data(),
                 s.has_added ? added.data() : nullptr},
                scratch.data(), threads == 2 ? *two : many);
  return out;
}

const Case cases[] = {{1, 3, 9, 5, 3, 1},     {1, 16, 7, 12, 1, 1},  {1, 40, 7, 64, 3, 1},
                      {3, 20, 5, 25, 3, 2},   {8, 64, 4, 130, 1, 1}, {1, 300, 3, 30, 3, 1},
                      {1, 8, 40, 300, 1, 1},  {2, 5, 24, 33, 3, 1},  {1, 3, 30, 40, 7, 2},
                      {2, 130, 16, 64, 1, 1}, {1, 600, 7, 96, 1, 2}, {2, 30, 40, 9, 3, 1},
                      {1, 70, 36, 16, 3, 1}};

ConvolutionSpec spec_of(const Case& c) {
  const int64_t padding = c.kernel / 2, small = (c.size + 2 * padding - c.kernel) / c.stride + 1;
  return {.images = c.images,
          .large_channels = c.channels,
          .small_channels = c.out,
          .large = {1, c.size, c.size},
          .small = {1, small, small},
          .kernel = {1, c.kernel, c.kernel},
          .stride = {1, c.stride, c.stride},
          .padding = {0, padding, padding}};
}

TEST(ConvolutionPacked, bits_are_those_of_the_weight) {
  Generator rng(4);
  for (const Target& target : test::targets_here())
    for (const Case& c : cases)
      for (const bool has_bias : {false, true}) {
        SCOPED_TRACE(testing::Message() << test::name_of(target) << " " << c.images << " x "
                                        << c.channels << " to " << c.out << " bias " << has_bias);
        ConvolutionSpec s = spec_of(c);
        s.has_bias = has_bias;
        const int64_t inner = c.channels * c.kernel * c.kernel;
        const HostTensor image = rng.normal({c.images, c.channels, c.size, c.size}),
                         weight = rng.normal({c.out, inner}), bias = rng.normal({c.out});
        const HostTensor want = result(s, target, image, weight, bias);
        s.weight_packed = true;
        const HostTensor panels = packed(weight, c.out, inner);
        for (const int threads : {2, 3, 16})
          EXPECT_TRUE(result(s, target, image, panels, bias, {}, threads).same_bits(want))
              << threads;
      }
}

// By a pass over the result.
HostTensor ended(HostTensor y, const ConvolutionSpec& s, const HostTensor& added) {
  for (int64_t k = 0; k < y.numel(); ++k) {
    float& x = y.data<float>()[k];
    if (s.has_added) x += added.data<float>()[k];
    if (s.relu && x < 0) x = 0;
  }
  return y;
}

TEST(ConvolutionPacked, what_is_done_while_it_writes_has_the_bits_of_a_pass) {
  Generator rng(5);
  for (const Target& target : test::targets_here())
    for (const Case& c : cases)
      for (const int kind : {1, 2, 3, 4, 5, 6, 7}) {
        SCOPED_TRACE(testing::Message() << test::name_of(target) << " " << c.images << " x "
                                        << c.channels << " to " << c.out << " kind " << kind);
        ConvolutionSpec s = spec_of(c);
        s.has_bias = (kind & 4) != 0;
        const int64_t inner = c.channels * c.kernel * c.kernel;
        const HostTensor image = rng.normal({c.images, c.channels, c.size, c.size}),
                         weight = rng.normal({c.out, inner}), bias = rng.normal({c.out}),
                         added = rng.normal({c.images, c.out, s.small[1], s.small[2]});
        HostTensor plain = result(s, target, image, weight, bias);
        s.has_added = (kind & 1) != 0, s.relu = (kind & 2) != 0;
        const HostTensor want = ended(std::move(plain), s, added);
        EXPECT_TRUE(result(s, target, image, weight, bias, added).same_bits(want));
        s.weight_packed = true;
        EXPECT_TRUE(
            result(s, target, image, packed(weight, c.out, inner), bias, added).same_bits(want));
      }
}

TEST(ConvolutionPacked, numbers_that_are_none_stay) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  HostTensor image(DType::f32, {1, 1, 4, 4}), weight(DType::f32, {1, 1});
  for (int64_t k = 0; k < 16; ++k) image.data<float>()[k] = k % 2 == 0 ? nan : -1.0f;
  weight.data<float>()[0] = 1;
  ConvolutionSpec s = spec_of({1, 1, 4, 1, 1, 1});
  s.relu = true;
  for (const Target& target : test::targets_here())
    for (const bool is_packed : {false, true}) {
      s.weight_packed = is_packed;
      const HostTensor y =
          result(s, target, image, is_packed ? packed(weight, 1, 1) : weight, HostTensor{});
      for (int64_t k = 0; k < 16; ++k)
        EXPECT_TRUE(k % 2 == 0 ? std::isnan(y.data<float>()[k]) : y.data<float>()[k] == 0);
    }
}

TEST(ConvolutionPacked, what_no_operator_makes_is_a_bug) {
  ConvolutionSpec s{.large_channels = 2, .small_channels = 2, .weight_packed = true};
  EXPECT_TRUE(Convolution::make(s, Target::here()).ok());
  const auto is_bug = [](const ConvolutionSpec& wrong) {
    const auto made = Convolution::make(wrong, Target::here());
    return !made.ok() && made.failure().kind == ErrorKind::bug;
  };
  ConvolutionSpec groups = s, dtype = s, product = s, added = s, relu = s;
  groups.groups = 2;
  dtype.dtype = DType::f64;
  product.product = ConvolutionProduct::to_large;
  EXPECT_TRUE(is_bug(groups) && is_bug(dtype) && is_bug(product));
  added.weight_packed = relu.weight_packed = false;
  added.has_added = true, added.dtype = DType::bf16;
  relu.relu = true, relu.product = ConvolutionProduct::to_weight;
  EXPECT_TRUE(is_bug(added) && is_bug(relu));
}

}  // namespace
}  // namespace cleave::runtime
