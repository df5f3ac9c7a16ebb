// Convolutions whose weight was packed beforehand: the bits of the convolution with the weight.
#include <gtest/gtest.h>

#include "cleave/cleave.h"
#include "library/gemm_spec.h"
#include "runtime/convolution.h"
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
                  const HostTensor& weight, const HostTensor& bias) {
  const auto function = value_or_throw(Convolution::make(s, target));
  HostTensor scratch(DType::u8, {function->scratch_bytes()});  // aligned to 64
  HostTensor out(DType::f32, {s.images, s.small_channels, s.small[1], s.small[2]});
  const auto threads = make_thread_pool(2);
  function->run({image.data(), weight.data(), s.has_bias ? bias.data() : nullptr, out.data()},
                scratch.data(), *threads);
  return out;
}

TEST(ConvolutionPacked, bits_are_those_of_the_weight) {
  Generator rng(4);
  const Case cases[] = {{1, 3, 9, 5, 3, 1},    {1, 16, 7, 12, 1, 1},  {1, 40, 7, 64, 3, 1},
                        {3, 20, 5, 25, 3, 2},  {8, 64, 4, 130, 1, 1}, {1, 300, 3, 30, 3, 1},
                        {1, 8, 40, 300, 1, 1}, {2, 5, 24, 33, 3, 1}};
  for (const Target& target : test::targets_here())
    for (const Case& c : cases)
      for (const bool has_bias : {false, true}) {
        SCOPED_TRACE(testing::Message() << test::name_of(target) << " " << c.images << " x "
                                        << c.channels << " to " << c.out << " bias " << has_bias);
        const int64_t padding = c.kernel / 2;
        const int64_t small = (c.size + 2 * padding - c.kernel) / c.stride + 1;
        ConvolutionSpec s{.images = c.images,
                          .large_channels = c.channels,
                          .small_channels = c.out,
                          .large = {1, c.size, c.size},
                          .small = {1, small, small},
                          .kernel = {1, c.kernel, c.kernel},
                          .stride = {1, c.stride, c.stride},
                          .padding = {0, padding, padding},
                          .has_bias = has_bias};
        const int64_t inner = c.channels * c.kernel * c.kernel;
        const HostTensor image = rng.normal({c.images, c.channels, c.size, c.size}),
                         weight = rng.normal({c.out, inner}), bias = rng.normal({c.out});
        const HostTensor want = result(s, target, image, weight, bias);
        s.weight_packed = true;
        EXPECT_TRUE(result(s, target, image, packed(weight, c.out, inner), bias).same_bits(want));
      }
}

TEST(ConvolutionPacked, what_no_operator_makes_is_a_bug) {
  ConvolutionSpec s{.large_channels = 2, .small_channels = 2, .weight_packed = true};
  EXPECT_TRUE(Convolution::make(s, Target::here()).ok());
  const auto is_bug = [](const ConvolutionSpec& wrong) {
    const auto made = Convolution::make(wrong, Target::here());
    return !made.ok() && made.failure().kind == ErrorKind::bug;
  };
  ConvolutionSpec groups = s, dtype = s, product = s;
  groups.groups = 2;
  dtype.dtype = DType::f64;
  product.product = ConvolutionProduct::to_large;
  EXPECT_TRUE(is_bug(groups) && is_bug(dtype) && is_bug(product));
}

}  // namespace
}  // namespace cleave::runtime
