// attention_block.h for processors with AMX_BF16, for bf16 alone: all products by tiles.
#include <array>
#include <bit>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <type_traits>
#include <utility>

#include "runtime/attention_amx_scratch.h"
#include "runtime/attention_block.h"
#include "runtime/half.h"

namespace cleave::runtime {
namespace {

constexpr int64_t panel = 32, queries_at_once = 128, keys_at_once = 256;

// On another architecture these are all there is: programs are planned by them.
constexpr AttentionSizes amx_attention_sizes = {.lanes = 16,
                                                .mr = panel,
                                                .panel = panel,
                                                .query_block = queries_at_once,
                                                .block_columns = keys_at_once,
                                                .has_tiles = true};

}  // namespace
}  // namespace cleave::runtime

#if defined(__x86_64__)
#include "runtime/amx_begin.h"
#if !defined(__clang__)
#pragma GCC optimize("O3")  // masks and dropout are loops for the compiler's vectors
#endif

namespace cleave::runtime {
namespace {

#include "runtime/vec_avx512.h"
#include "runtime/vec_avx512bf16.h"

#include "runtime/transpose_avx512.h"

#include "runtime/attention_tile_code.h"

#include "runtime/attention_exp_code.h"

#include "runtime/attention_dropout_code.h"

#include "runtime/attention_scores_code.h"

#include "runtime/attention_backward_range_code.h"

#include "runtime/tile_registers_code.h"

#include "runtime/attention_amx_products_code.h"

#include "runtime/attention_amx_forward_code.h"

#include "runtime/attention_amx_backward_code.h"

void forward_by_tiles(const AttentionSpec& spec, const AttentionForward& at,
                      const AttentionRange& rows, void* scratch) {
  AmxForward(spec, at, rows, scratch).run();
}

void backward_by_tiles(const AttentionBackwardSpec& spec, const AttentionBackward& at,
                       const AttentionRange& columns, float* partial, void* scratch) {
  AmxBackward(spec, at, columns, partial, scratch).run();
}

}  // namespace

constinit const AttentionKernels attention_kernels_amx = {
    .bf16 = {amx_attention_sizes, forward_by_tiles, backward_by_tiles, sum_partial_by_panels}};

}  // namespace cleave::runtime

#include "runtime/target_end.h"
#else
namespace cleave::runtime {
constinit const AttentionKernels attention_kernels_amx = {
    .bf16 = {amx_attention_sizes, [](const AttentionSpec&, const AttentionForward&,
                                     const AttentionRange&, void*) { std::abort(); }}};
}  // namespace cleave::runtime
#endif
