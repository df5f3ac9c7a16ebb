// attention_block.h for processors with AVX-512 (F, BW, DQ, VL): panels of 32 queries.
#include <array>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <type_traits>
#include <utility>

#include "runtime/attention_block.h"
#include "runtime/half.h"

#include "runtime/avx512_begin.h"

namespace cleave::runtime {
namespace {

#include "runtime/vec_avx512.h"

#include "runtime/attention_block_code.h"

}  // namespace

constinit const AttentionKernels attention_kernels_avx512 = all_kernels();

}  // namespace cleave::runtime

#include "runtime/target_end.h"
