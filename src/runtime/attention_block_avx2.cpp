// attention_block.h for processors with AVX2, FMA and F16C: panels of 16 queries.
#include <array>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <type_traits>
#include <utility>

#include "runtime/attention_block.h"
#include "runtime/half.h"

#include "runtime/avx2_begin.h"

namespace cleave::runtime {
namespace {

#include "runtime/vec_avx2.h"

#include "runtime/attention_block_code.h"

}  // namespace

constinit const AttentionKernels attention_kernels_avx2 = all_kernels();

}  // namespace cleave::runtime

#include "runtime/target_end.h"
