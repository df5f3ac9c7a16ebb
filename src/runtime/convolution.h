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
#include "cleave/target.h"
#include "library/convolution_spec.h"
#include "library/library_function.h"

namespace cleave::runtime {

// What a run reads and writes.
struct ConvolutionOperands {
  const void* image = nullptr;  // to_small: large; to_large: small; to_weight: large
  const void* other = nullptr;  // weight; to_weight: small
  const void* bias = nullptr;
  void* out = nullptr;
};

class Convolution : public LibraryFunction {
 public:
  static Result<std::shared_ptr<Convolution>> make(const ConvolutionSpec& spec,
                                                   const Target& target);
  virtual long pieces() const = 0;
  // scratch is aligned to 64. Any number of threads may run one Convolution at once, each with its
  // own scratch. Allocates nothing.
  virtual void run(const ConvolutionOperands& at, void* scratch, Executor& executor) const = 0;
  void call(void* const* at, void* scratch, Executor& executor) const final;
};

}  // namespace cleave::runtime
