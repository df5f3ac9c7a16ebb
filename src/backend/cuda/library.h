// The library on the device: a function for each spec.
//
//   CLEAVE_TRY(LibraryFunctionPtr product, cuda::make_library(spec, cuda_library_device(90, 0)));
//   plan(product->scratch_bytes());
//   product->call(pointers, scratch, {.executor = executor, .queue = stream});
//
// Where calls needn't be deterministic, the sums of some (cudnn_attention.h) are added up as blocks
// come. Calls are queued. What needs the device (handles, choices of algorithms, loaded code) is
// made at the first call. Errors: Unsupported for dtypes that a kind of call doesn't cover; Bug for
// sizes that no operator gives.
#pragma once
#include "backend/cuda/library_gemm.h"
#include "library/library_function.h"
#include "library/spec.h"

namespace cleave::cuda {

Result<LibraryFunctionPtr> make_library(const LibrarySpec& spec, const LibraryDevicePtr& device,
                                        const Answers& answers = {}, bool is_deterministic = true);

}  // namespace cleave::cuda
