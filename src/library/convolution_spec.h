// What one product of a convolution computes: sizes of the image sides, of the kernel, its strides.
//
//   large [images, large_channels, *large]  --- weight ---  small [images, small_channels, *small]
//   weight [small_channels, large_channels/groups, *kernel];  all row-major without gaps
#pragma once
#include <array>
#include <compare>
#include <cstddef>
#include <cstdint>

#include "cleave/dtype.h"

namespace cleave {

// What a call touches, in the order of its pointers (LibraryCall). `sizes` is an operand of the
// operator that gives its sizes alone: it is there, and not read.
struct ConvolutionOperand {
  enum : size_t { image, other, bias, sizes, out };
};

using Sizes3 = std::array<int64_t, 3>;  // depth, height, width

enum class ConvolutionProduct { to_small, to_large, to_weight };

// Fewer than three spatial dims are the last ones, the others are 1. Positions of the small side
// may be fewer than fit, or more: what lies outside of the large side is 0.
struct ConvolutionSpec {
  ConvolutionProduct product = ConvolutionProduct::to_small;
  DType dtype = DType::f32;
  int64_t images = 1, large_channels = 1, small_channels = 1, groups = 1;
  Sizes3 large = {1, 1, 1}, small = {1, 1, 1}, kernel = {1, 1, 1};
  Sizes3 stride = {1, 1, 1}, padding = {0, 0, 0}, dilation = {1, 1, 1};
  bool has_bias = false;  // of the result's channels; not with to_weight

  static constexpr const char* kind = "convolution";
  // A multiplication and an addition are two.
  int64_t flops() const {
    return 2 * images * small_channels * (large_channels / groups) * small[0] * small[1] *
           small[2] * kernel[0] * kernel[1] * kernel[2];
  }
  auto operator<=>(const ConvolutionSpec&) const = default;
};

}  // namespace cleave
