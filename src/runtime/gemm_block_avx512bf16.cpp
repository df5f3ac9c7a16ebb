// gemm_block.h for processors with AVX512_BF16 and AVX512_VNNI, for bf16 and 8-bit integers: tiles
// of 12 x 32 sums in 24 registers; an instruction sums two values of k.
#include <array>
#include <bit>
#include <cstdlib>
#include <cstring>
#include <type_traits>
#include <utility>

#include "runtime/gemm_block.h"
#include "runtime/half.h"

namespace cleave::runtime {
namespace {

// On another architecture these are all there is: programs are planned by them.
constexpr GemmSizes bf16_sizes = {.mr = 12,
                                  .nr = 32,
                                  .max_kc = 768,
                                  .span = 64 * 768,
                                  .depth = 2,
                                  .packed_size = 2,
                                  .sum_size = 4,
                                  .sums_in_c = false,
                                  .sums_are_floats = true};

constexpr GemmSizes byte_sizes = [] {
  GemmSizes out = bf16_sizes;
  out.sums_are_floats = false;
  return out;
}();

}  // namespace
}  // namespace cleave::runtime

#if defined(__x86_64__)
#include "runtime/avx512bf16_begin.h"

namespace cleave::runtime {
namespace {

#include "runtime/vec_avx512.h"
#include "runtime/vec_avx512bf16.h"

inline __m512i add_pairs(__m512i x, __m512i y, __m512i z) { return _mm512_dpwssd_epi32(z, x, y); }

#include "runtime/vec_int16_avx512.h"

inline constexpr int64_t kc_bytes = 1536;

#include "runtime/gemm_block_code.h"
#include "runtime/gemm_pair_panels_code.h"

#include "runtime/gemm_pack_pairs_code.h"

#include "runtime/gemm_bytes_code.h"

static_assert(Block<Bf16, Bf16>::sizes == bf16_sizes);
static_assert(Block<int32_t, int16_t>::sizes == byte_sizes);
static_assert(Block<float, int16_t>::sizes == byte_sizes);

}  // namespace

constinit const GemmBlockKernels gemm_kernels_avx512bf16 = {.bf16 = kernel_of<Bf16, Bf16>(),
                                                            .bytes = kernel_of<int32_t, int16_t>(),
                                                            .scaled = kernel_of<float, int16_t>()};

}  // namespace cleave::runtime

#include "runtime/target_end.h"
#else
namespace cleave::runtime {
constinit const GemmBlockKernels gemm_kernels_avx512bf16 = {
    .bf16 = {bf16_sizes, [](const GemmBlock&) { std::abort(); }},
    .bytes = {byte_sizes, [](const GemmBlock&) { std::abort(); }},
    .scaled = {byte_sizes, [](const GemmBlock&) { std::abort(); }}};
}  // namespace cleave::runtime
#endif
