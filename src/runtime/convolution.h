// Convolutions as matrix products whose columns are never in memory: windows are packed from the
// images straight into the panels of the product (convolution_windows.h).
//
//   large [images, large_channels, *large]  --- weight ---  small [images, small_channels, *small]
//   weight [small_channels, large_channels/groups, *kernel];  all row-major without gaps
//
//   small[n,s,o] = bias[s] + sum over l of the group, tap of
//                            large[n, l, o * stride - padding + tap * dilation] * weight[s,l,tap]
//
//   to_small   that: a convolution, or the gradient of a transposed one by its input
//   to_large   its transpose: the gradient by the input, or a transposed convolution
//   to_weight  the gradient by the weight, for both
//
// to_large takes each remainder of a position by the stride (phase) apart: positions of one phase
// meet the same taps, so that it is a convolution with a part of them, and nothing is scattered.
//
// Pieces are cut by the shape alone; to_weight sums positions in order, where the weight is small
// in parts whose sums are added up in order. So bits depend on the shape and the target. What is
// bf16 or f16 is summed in f32 and rounded once.
//
// Errors: Unsupported for what isn't floating; Bug for sizes that don't fit each other.
#pragma once
#include <cstddef>
#include <memory>

#include "base/result.h"
#include "cleave/executor.h"
#include "runtime/convolution_windows.h"

namespace cleave::runtime {

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

  auto operator<=>(const ConvolutionSpec&) const = default;
};

// What a run reads and writes.
struct ConvolutionOperands {
  const void* image = nullptr;  // to_small: large; to_large: small; to_weight: large
  const void* other = nullptr;  // weight; to_weight: small
  const void* bias = nullptr;
  void* out = nullptr;
};

class Convolution {
 public:
  static Result<std::shared_ptr<Convolution>> make(const ConvolutionSpec& spec,
                                                   const Target& target);
  virtual ~Convolution() = default;
  // What run needs: a multiple of 64, depends on the spec and the target.
  virtual int64_t scratch_bytes() const = 0;
  virtual long pieces() const = 0;
  // scratch is aligned to 64. Any number of threads may run one Convolution at once, each with its
  // own scratch. Allocates nothing.
  virtual void run(const ConvolutionOperands& at, void* scratch, Executor& executor) const = 0;
};

}  // namespace cleave::runtime
