// Convolutions on the device (ConvolutionSpec): those of one channel a group by kernels of our own
// (depthwise_convolution.h), others by cuDNN, halves by its graphs (cudnn_half_convolution.h, else
// cudnn_convolution.h), or, where it doesn't take them, by plain sums (plain_convolution.h).
//
// Errors: Unsupported for dtypes that aren't floating; Bug for sizes that contradict each other.
#pragma once
#include "backend/cuda/library_device.h"
#include "library/convolution_spec.h"
#include "library/library_function.h"

namespace cleave::cuda {

Result<LibraryFunctionPtr> make_convolution(const ConvolutionSpec& spec,
                                            const LibraryDevicePtr& device);

}  // namespace cleave::cuda
