// attention_block.h for processors with AVX2, FMA and F16C: panels of 16 queries.
#include <array>
#include <cmath>
#include <cstring>
#include <limits>
#include <type_traits>
#include <utility>

#include "runtime/attention_block.h"
#include "runtime/half.h"

#if defined(__x86_64__)
#include "runtime/avx2_begin.h"

namespace cleave::runtime {
namespace {

#include "runtime/vec_avx2.h"

#include "runtime/attention_block_code.h"

}  // namespace

AttentionKernel attention_kernel_avx2(DType dtype) { return kernel_for(dtype); }

}  // namespace cleave::runtime

#include "runtime/target_end.h"
#else
namespace cleave::runtime {
AttentionKernel attention_kernel_avx2(DType) { return {}; }
}  // namespace cleave::runtime
#endif
