// Library calls of the CUDA backend on the host: the texts of src/backend/cuda/device as C++, whose
// blocks run one after the other, and cuBLASLt and cuDNN by plain loops in their own terms.
// Pointers are the host's.
//
// The threads of a block are fibers that change at __syncthreads, forwards and backwards in turns,
// so that a barrier that is missing shows; one that some of a block's threads alone reach throws. A
// grid has at most `most_blocks`, whatever is asked for.
#pragma once
#include "backend/cuda/library_device.h"
#include "test/backend/simulated_cudnn.h"

namespace cleave::test {

cuda::LibraryDevicePtr simulated_device(bool has_libraries = true, int64_t most_blocks = 3,
                                        SimulatedCudnn cudnn = SimulatedCudnn::newest);

// What simulated_device's cuBLASLt is made of. Its heuristic has no algorithm for a single number.
cuda::CublasApi simulated_cublas();
constexpr int simulated_answers = 3;  // of its heuristic
int taken_answer();                   // by the last product

}  // namespace cleave::test
