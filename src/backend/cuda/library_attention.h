// Attention on the device, forward and backward: bf16 and f16 by cuDNN where it takes the spec
// (cudnn_attention.h), everything else by kernels of our own (plain_attention.h).
//
// Errors: Unsupported for dtypes other than f32, bf16 and f16; Bug for sizes that no operator
// gives.
#pragma once
#include "backend/cuda/library_device.h"
#include "library/attention_spec.h"
#include "library/library_function.h"

namespace cleave::cuda {

Result<LibraryFunctionPtr> make_attention(const AttentionSpec& spec,
                                          const LibraryDevicePtr& device);
Result<LibraryFunctionPtr> make_attention_gradient(const AttentionBackwardSpec& spec,
                                                   const LibraryDevicePtr& device,
                                                   bool is_deterministic = true);

}  // namespace cleave::cuda
