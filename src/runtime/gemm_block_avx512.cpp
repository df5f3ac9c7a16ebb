// gemm_block.h for processors with AVX-512 (F, BW, DQ, VL): tiles of 12 x 32 f32 in 24 registers.
#include <array>
#include <bit>
#include <cstdlib>
#include <cstring>
#include <type_traits>
#include <utility>

#include "runtime/gemm_block.h"
#include "runtime/half.h"

#include "runtime/avx512_begin.h"

namespace cleave::runtime {
namespace {

#include "runtime/vec_avx512.h"

#if defined(__x86_64__)
inline __m512i add_pairs(__m512i x, __m512i y, __m512i z) {
  return _mm512_add_epi32(z, _mm512_madd_epi16(x, y));
}
#endif

#include "runtime/vec_int16_avx512.h"

inline constexpr int64_t kc_bytes = 1536;

#include "runtime/gemm_block_code.h"

#include "runtime/gemm_bytes_code.h"

using PackedByte = int16_t;
#include "runtime/gemm_kernels_code.h"

}  // namespace

constinit const GemmBlockKernels gemm_kernels_avx512 = all_kernels();

}  // namespace cleave::runtime

#include "runtime/target_end.h"
