// Convolutions in bf16 and f16 by a graph of cuDNN, in one spatial dim or two: the product, and a
// bias that is added in f32 before the one rounding. Its engines read channels in a row; tensors in
// another order, or with channels that aren't a multiple of 8, they copy first, into the workspace.
#pragma once
#include <optional>

#include "backend/cuda/cudnn_graph.h"
#include "backend/cuda/library_device.h"
#include "library/convolution_spec.h"

namespace cleave::cuda {

class CudnnHalfConvolution {
 public:
  // Whether to ask cuDNN: halves, without a third dim, positions that fit.
  static bool takes(const ConvolutionSpec& spec);
  static int64_t scratch_bytes(const ConvolutionSpec& spec);
  static bool reads(size_t position) {
    using At = ConvolutionOperand;
    return position == At::image || position == At::other || position == At::bias ||
           position == At::out;
  }
  // Unsupported: what cuDNN says.
  static Result<CudnnHalfConvolution> make(const ConvolutionSpec& spec, const CudnnPtr& cudnn,
                                           const LibraryDevice& device);
  void run(void* const* operands, void* scratch, void* queue) const;

 private:
  CudnnHalfConvolution(CudnnPlan plan, const ConvolutionSpec& spec)
      : plan_(std::move(plan)), spec_(spec) {}
  static Result<CudnnHalfConvolution> planned(const ConvolutionSpec& spec, const CudnnPtr& cudnn,
                                              bool adds_bias);

  CudnnPlan plan_;
  ConvolutionSpec spec_;
  int64_t image_ = 0, other_ = 0, bias_ = 0, out_ = 0;
  DeviceKernelPtr finish_;  // adds the bias; null: the plan does, or there is none
};

}  // namespace cleave::cuda
