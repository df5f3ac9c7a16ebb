// Convolutions of long kernels, in both directions and with both gradients: sums of thousands of
// products, positions that the runtime cuts into pieces.
#include <gtest/gtest.h>

#include "op/convolution.h"
#include "test/sample/both_engines.h"

namespace cleave::test {
namespace {

constexpr int64_t images = 3, taps = 4096, windows = 1024, length = windows + taps - 1;
static_assert(taps * windows * 4 * images > ConvolutionProducts::column_bytes &&
              taps * windows * 4 * 2 <= ConvolutionProducts::column_bytes);
constexpr double tolerance = 1e-3;  // of sums of 4096 products up to 1 in f32

const Array large = scattered(DType::f32, {images, 1, length}, 1);
const Array small = scattered(DType::f32, {images, 1, windows}, 2);
const Array weight = scattered(DType::f32, {1, 1, taps}, 3);

const std::string attrs = "stride=[1], padding=[0], dilation=[1], output_padding=[0], groups=1, ";

TEST(ConvolutionParts, both_directions) {
  const std::string text =
      "graph @main(%l: input f32[3,1,5119], %s: input f32[3,1,1024], %w: input f32[1,1,4096]) {\n"
      "  %to_small = convolution(%l, %w; " +
      attrs +
      "transposed=false)\n"
      "  %to_large = convolution(%s, %w; " +
      attrs +
      "transposed=true)\n"
      "  return %to_small, %to_large\n}\n";
  by_both(text, {{"l", large}, {"s", small}, {"w", weight}}, tolerance);
}

TEST(ConvolutionParts, gradients) {
  const std::string text =
      "graph @main(%l: input f32[3,1,5119], %s: input f32[3,1,1024], %w: input f32[1,1,4096]) {\n"
      "  %dx, %dw, %db = convolution_backward(%s, %l, %w; " +
      attrs +
      "transposed=false, output_mask=[true,true,false])\n"
      "  return %dx, %dw\n}\n";
  by_both(text, {{"l", large}, {"s", small}, {"w", weight}}, tolerance);
}

}  // namespace
}  // namespace cleave::test
