// Kernels as CUDA C: a function for each phase (run/phase.h says how it is started).
//
//   extern "C" __global__ void __launch_bounds__(128)
//   SYMBOL(const float *x_, float *y_, int64_t kernel, int64_t *fault) {
//     const int block = blockIdx.x, thread = threadIdx.x;
//     ...
//
// The arguments are the buffers and scalars that the phase uses, the number of the kernel in its
// program, and the words in which a check that fails says so.
#pragma once
#include "run/phase.h"
#include "simt/kernel.h"

namespace cleave::simt {

struct CudaKernel {
  std::string text;  // without the prelude
  std::vector<KernelPhase> phases;
  std::vector<CheckText> checks;  // in the order of their numbers
};

// `symbol` begins the functions' names. obeys_faults: its functions do nothing once a check of the
// program has failed.
CudaKernel cuda_text(const Kernel& kernel, const std::string& symbol, bool obeys_faults);

}  // namespace cleave::simt
