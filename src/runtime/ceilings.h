// Measures the best rates of this machine, with which those of programs are compared.
#pragma once
#include "cleave/dtype.h"
#include "cleave/executor.h"
#include "cleave/target.h"

namespace cleave::runtime {

// The best of a few copies between buffers larger than the caches, by all threads of the executor;
// bytes read and bytes written both count. Takes about 0.1 s and 128 MiB.
double copy_bytes_per_us(Executor& executor);

// The best rate of a product of 768 x 768 matrices in this dtype (f32, bf16, f16); a multiplication
// and an addition count as two. 0 if there is no such product. Takes about 0.1 s.
double product_flops_per_us(Executor& executor, DType dtype, const Target& target);

}  // namespace cleave::runtime
