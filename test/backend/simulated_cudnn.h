// cuDNN by plain loops: graphs of its operations over dense tensors of f64, and convolutions. It
// refuses what the documentation does: attributes that are missing or of another type, sizes that
// don't fit, unaligned pointers.
#pragma once
#include "backend/cuda/cudnn_api.h"

namespace cleave::test {

enum class SimulatedCudnn { newest, reads_past_keys /* 9.14 */ };
cuda::CudnnApi simulated_cudnn(SimulatedCudnn which = SimulatedCudnn::newest);

// Graphs and convolutions that it has run so far: tests see that it was asked.
int64_t simulated_cudnn_runs();

}  // namespace cleave::test
