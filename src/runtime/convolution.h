// Convolutions as matrix products without an im2col matrix in memory: windows are packed from the
// images directly into the panels of the product (convolution_windows.h), or read in place where
// that is faster (convolution_in_place.h).
//
//   large [images, large_channels, *large]  --- weight ---  small [images, small_channels, *small]
//   weight [small_channels, large_channels/groups, *kernel];  all row-major without gaps
//
//   small[n,s,o] = bias[s] + sum over l of the group, tap of
//                            large[n, l, o * stride - padding + tap * dilation] * weight[s,l,tap]
//
//   to_small   this sum: a convolution, or the gradient of a transposed one by its input
//   to_large   its transpose: the gradient by the input, or a transposed convolution
//   to_weight  the gradient by the weight, for both
//
// to_large computes each remainder of a position modulo the stride (phase) on its own: positions of
// one phase use the same taps, so a phase is a convolution with some of the taps, and no sums are
// scattered.
//
// to_small may add another value of its result's shape (has_added), and replace negative numbers by
// 0 (relu), as it writes.
//
// Pieces don't change the order in which a number is summed. to_weight sums positions in order; for
// a small weight in parts, whose sums are added up in order. So bits depend on the shape and the
// target alone. bf16 and f16 are summed in f32 and rounded once.
//
// With channels_last the tensors are copied to the order above and back.
//
// Errors: Unsupported for dtypes that aren't floating; Bug for sizes that contradict each other.
#pragma once
#include "cleave/target.h"
#include "library/convolution_spec.h"
#include "library/library_function.h"
#include "run/run_context.h"

namespace cleave::runtime {

// The operands of a run.
struct ConvolutionOperands {
  const void* image = nullptr;  // to_small: large; to_large: small; to_weight: large
  const void* other = nullptr;  // weight; to_weight: small
  const void* bias = nullptr;
  void* out = nullptr;
  const void* added = nullptr;
};

class Convolution : public LibraryFunction {
 public:
  static Result<std::shared_ptr<Convolution>> make(const ConvolutionSpec& spec,
                                                   const Target& target);
  // scratch is aligned to 64. Any number of threads may run one Convolution at once, each with its
  // own scratch. Allocates nothing.
  virtual void run(const ConvolutionOperands& at, void* scratch, Executor& executor) const = 0;
  void call(void* const* at, void* scratch, const RunContext& context) const final;
};

}  // namespace cleave::runtime
