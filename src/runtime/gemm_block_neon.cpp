// gemm_block.h for aarch64: tiles of 12 x 8 f32 in 24 registers.
#include <array>
#include <cstdlib>
#include <cstring>
#include <type_traits>
#include <utility>

#include "runtime/gemm_block.h"
#include "runtime/half.h"

#include "runtime/neon_begin.h"

namespace cleave::runtime {
namespace {

#include "runtime/vec_neon.h"

inline constexpr int64_t kc_bytes = 1024;

#include "runtime/gemm_block_code.h"

using PackedByte = uint32_t;
#include "runtime/gemm_kernels_code.h"

}  // namespace

constinit const GemmBlockKernels gemm_kernels_neon = all_kernels();

}  // namespace cleave::runtime

#include "runtime/neon_end.h"
