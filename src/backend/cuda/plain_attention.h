// Attention by kernels of our own (device/attention.h, device/attention_gradient.h): every dtype,
// layout, mask, group and dropout of the spec. The order of sums doesn't depend on the device.
#pragma once
#include "backend/cuda/library_device.h"
#include "library/attention_spec.h"
#include "library/library_function.h"

namespace cleave::cuda {

// The specs are checked (library_attention.h).
Result<LibraryFunctionPtr> make_plain(const AttentionSpec& spec, const LibraryDevice& device);
Result<LibraryFunctionPtr> make_plain(const AttentionBackwardSpec& spec,
                                      const LibraryDevice& device);
int64_t plain_scratch_bytes(const AttentionBackwardSpec& spec);

}  // namespace cleave::cuda
