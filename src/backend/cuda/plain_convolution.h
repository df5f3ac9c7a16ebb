// Convolutions by kernels of our own: plain sums (device/convolution.h).
#pragma once
#include "backend/cuda/device/arguments.h"
#include "backend/cuda/library_device.h"
#include "library/convolution_spec.h"
#include "library/library_function.h"

namespace cleave::cuda {

// The spec is checked (library_convolution.h). No workspace.
Result<LibraryFunctionPtr> make_plain(const ConvolutionSpec& spec, const LibraryDevice& device);

inline int64_t positions_of(const Sizes3& sizes) { return sizes[0] * sizes[1] * sizes[2]; }
device::ConvolutionArguments convolution_arguments(const ConvolutionSpec& spec);
// What is left to do after a library's product: bias, addend, relu.
DeviceCall finish_convolution_call(DType dtype);
void finish_convolution(const DeviceKernel& kernel, const ConvolutionSpec& spec,
                        void* const* operands, void* queue);

}  // namespace cleave::cuda
