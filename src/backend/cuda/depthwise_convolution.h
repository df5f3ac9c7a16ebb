// Convolutions of one channel a group by kernels of our own (device/depthwise.h), channels last, in
// two dims: square kernels of 3, 5 or 7, stride 1 or 2, without dilation, in f32 and halves. What
// isn't aligned to 16 bytes is left to plain_convolution.h.
#pragma once
#include "backend/cuda/library_device.h"
#include "library/convolution_spec.h"
#include "library/library_function.h"

namespace cleave::cuda {

bool is_depthwise(const ConvolutionSpec& spec);
// Of a spec that is.
Result<LibraryFunctionPtr> make_depthwise(const ConvolutionSpec& spec,
                                          const LibraryDevicePtr& device);

}  // namespace cleave::cuda
