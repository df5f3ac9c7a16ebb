// Convolutions by cuDNN, of images without gaps, in two spatial dims or three: in f32, which isn't
// cut to TF32, in f64, and of halves those that cudnn_half_convolution.h doesn't take. The
// algorithm is the first of the heuristic's answers that is deterministic and has enough workspace.
// Bias, addend and relu are a kernel of our own afterwards: with a bias in bf16 and f16 a number is
// rounded twice.
#pragma once
#include <memory>

#include "backend/cuda/library_device.h"
#include "library/convolution_spec.h"

namespace cleave::cuda {

class CudnnConvolution {
 public:
  // Whether to ask cuDNN: the small image has the positions that fit.
  static bool takes(const ConvolutionSpec& spec);
  static int64_t scratch_bytes(const ConvolutionSpec& spec);
  static bool reads(size_t position) {
    using At = ConvolutionOperand;
    return position == At::image || position == At::other || position == At::out;
  }
  // Unsupported: cuDNN has no such algorithm.
  static Result<CudnnConvolution> make(const ConvolutionSpec& spec, const CudnnPtr& cudnn,
                                       const LibraryDevice& device);
  void run(void* const* operands, void* scratch, void* queue) const;

 private:
  struct Descriptors;
  CudnnConvolution() = default;
  CudnnStatus queue_product(CudnnHandle handle, void* const* operands, void* workspace) const;

  ConvolutionSpec spec_;
  CudnnPtr cudnn_;
  std::shared_ptr<const Descriptors> at_;
  CudnnAlgorithm algorithm_{};
  DeviceKernelPtr finish_;  // null: nothing is left to do
};

}  // namespace cleave::cuda
