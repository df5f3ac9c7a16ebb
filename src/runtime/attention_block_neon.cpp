// attention_block.h for aarch64: panels of 8 queries.
#include <array>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <type_traits>
#include <utility>

#include "runtime/attention_block.h"
#include "runtime/half.h"

#include "runtime/neon_begin.h"

namespace cleave::runtime {
namespace {

#include "runtime/vec_neon.h"

#include "runtime/attention_block_code.h"

}  // namespace

constinit const AttentionKernels attention_kernels_neon = all_kernels();

}  // namespace cleave::runtime

#include "runtime/neon_end.h"
