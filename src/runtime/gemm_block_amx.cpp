// gemm_block.h for processors with AMX_BF16 and AMX_INT8, for bf16 and i8: tiles of 32 x 32 sums in
// four tile registers; an instruction sums 32 values of k in bf16, 64 in i8.
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
constexpr GemmSizes amx_sizes = {.mr = 32,
                                 .nr = 32,
                                 .max_kc = 512,
                                 .span = 64 * 512,
                                 .depth = 32,
                                 .packed_size = 2,
                                 .sum_size = 4,
                                 .sums_in_c = false,
                                 .sums_are_floats = true};

// Twice as many values of k, of half the size.
constexpr GemmSizes amx_bytes_sizes = [] {
  GemmSizes out = amx_sizes;
  out.max_kc *= 2, out.span *= 2, out.depth *= 2;
  out.packed_size = 1;
  out.sums_are_floats = false;
  return out;
}();

}  // namespace
}  // namespace cleave::runtime

#if defined(__x86_64__)
#include "runtime/amx_begin.h"

namespace cleave::runtime {
namespace {

#include "runtime/vec_avx512.h"
#include "runtime/vec_avx512bf16.h"

#include "runtime/transpose_avx512.h"

inline constexpr int64_t kc_bytes = 1024;

#include "runtime/gemm_block_code.h"
#include "runtime/gemm_pair_panels_code.h"

#include "runtime/tile_registers_code.h"

#include "runtime/gemm_amx_code.h"

#include "runtime/gemm_amx_bytes_code.h"

static_assert(Block<Bf16, Bf16>::sizes == amx_sizes);
static_assert(Block<int32_t, int8_t>::sizes == amx_bytes_sizes);
static_assert(Block<float, int8_t>::sizes == amx_bytes_sizes);

template <class S, class P>
void run_block(const GemmBlock& block) {
  const TileRegisters registers;
  Block<S, P>(block).run();
}

}  // namespace

constinit const GemmBlockKernels gemm_kernels_amx = {
    .bf16 = {amx_sizes, run_block<Bf16, Bf16>},
    .bytes = {amx_bytes_sizes, run_block<int32_t, int8_t>},
    .scaled = {amx_bytes_sizes, run_block<float, int8_t>}};

}  // namespace cleave::runtime

#include "runtime/target_end.h"
#else
namespace cleave::runtime {
constinit const GemmBlockKernels gemm_kernels_amx = {
    .bf16 = {amx_sizes, [](const GemmBlock&) { std::abort(); }},
    .bytes = {amx_bytes_sizes, [](const GemmBlock&) { std::abort(); }},
    .scaled = {amx_bytes_sizes, [](const GemmBlock&) { std::abort(); }}};
}  // namespace cleave::runtime
#endif
