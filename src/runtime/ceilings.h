// What this machine can do at best, measured: beside it stands what programs do.
#pragma once
#include "cleave/dtype.h"
#include "cleave/executor.h"
#include "cleave/target.h"

namespace cleave::runtime {

// The best of a few copies between buffers that no cache holds, by all threads of the executor;
// bytes read and bytes written both count. Takes about 0.1 s and 128 MiB.
double copy_bytes_per_us(Executor& executor);

// The best rate of a large product in this dtype (f32, bf16, f16) that its caches hold; a
// multiplication and an addition are two. Takes about 0.1 s.
double product_flops_per_us(Executor& executor, DType dtype, const Target& target);

}  // namespace cleave::runtime
