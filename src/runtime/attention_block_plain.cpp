// attention_block.h for any processor: panels of 8 queries.
#include <array>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <type_traits>
#include <utility>

#include "runtime/attention_block.h"
#include "runtime/half.h"

namespace cleave::runtime {
namespace {

#include "runtime/vec_plain.h"

#include "runtime/attention_block_code.h"

}  // namespace

constinit const AttentionKernels attention_kernels_plain = all_kernels();

}  // namespace cleave::runtime
