// What a convolution call computes: sizes of both images and of the kernel, stride, padding,
// dilation. `large` is the input and `small` the output of a forward convolution; a transposed one
// swaps them.
//
//   large [images, large_channels, *large]  --- weight ---  small [images, small_channels, *small]
//   weight [small_channels, large_channels/groups, *kernel];  all row-major without gaps
//
//   channels_last:  large [images, *large, large_channels]
//                   small [images, *small, small_channels]
//                   weight [small_channels, *kernel, large_channels/groups]
#pragma once
#include <array>
#include <compare>
#include <cstddef>
#include <cstdint>

#include "cleave/dtype.h"

namespace cleave {

// The operands in the order of the call's pointers (LibraryCall). `sizes` is an operand of which
// only the shape matters; it isn't read.
struct ConvolutionOperand {
  enum : size_t { image, other, bias, sizes, added, out };
};

using Sizes3 = std::array<int64_t, 3>;  // depth, height, width

enum class ConvolutionProduct { to_small, to_large, to_weight };

// With fewer than three spatial dims the leading ones are 1. The small image may have fewer or more
// positions than fit in the large one; outside of the large image everything is 0.
struct ConvolutionSpec {
  ConvolutionProduct product = ConvolutionProduct::to_small;
  DType dtype = DType::f32;
  int64_t images = 1, large_channels = 1, small_channels = 1, groups = 1;
  Sizes3 large = {1, 1, 1}, small = {1, 1, 1}, kernel = {1, 1, 1};
  Sizes3 stride = {1, 1, 1}, padding = {0, 0, 0}, dilation = {1, 1, 1};
  bool has_bias = false;  // one element for each channel of the result; not with to_weight
  // With to_small, in f32: a value of the result's shape is added, then negative numbers become 0.
  bool has_added = false, relu = false;
  // The weight is in panels [small_channels / gemm_panel, k, gemm_panel] (gemm_spec.h), with k =
  // (channel, tap), numbers for no channel don't matter. With to_small, in f32, of one group.
  bool weight_packed = false;
  // Channels are the last dim of all three tensors. Without has_added, relu and weight_packed.
  bool channels_last = false;

  static constexpr const char* kind = "convolution";
  // A multiply-add counts as two.
  int64_t flops() const {
    return 2 * images * small_channels * (large_channels / groups) * small[0] * small[1] *
           small[2] * kernel[0] * kernel[1] * kernel[2];
  }
  auto operator<=>(const ConvolutionSpec&) const = default;
};

}  // namespace cleave
