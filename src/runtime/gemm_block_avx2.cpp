// gemm_block.h for processors with AVX2, FMA and F16C: tiles of 6 x 16 f32 in 12 registers.
#include <array>
#include <bit>
#include <cstdlib>
#include <cstring>
#include <type_traits>
#include <utility>

#include "runtime/gemm_block.h"
#include "runtime/half.h"

#include "runtime/avx2_begin.h"

namespace cleave::runtime {
namespace {

#include "runtime/vec_avx2.h"
#include "runtime/vec_int16_avx2.h"

inline constexpr int64_t kc_bytes = 1024;

#include "runtime/gemm_block_code.h"

#include "runtime/gemm_bytes_code.h"

using PackedByte = int16_t;
#include "runtime/gemm_kernels_code.h"

}  // namespace

constinit const GemmBlockKernels gemm_kernels_avx2 = all_kernels();

}  // namespace cleave::runtime

#include "runtime/target_end.h"
