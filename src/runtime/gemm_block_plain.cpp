// gemm_block.h for any processor: vectors of 16 bytes, products and sums rounded separately.
#include <array>
#include <cstdlib>
#include <cstring>
#include <type_traits>
#include <utility>

#include "runtime/gemm_block.h"
#include "runtime/half.h"

namespace cleave::runtime {
namespace {

#include "runtime/vec_plain.h"

inline constexpr int64_t kc_bytes = 1024;

#include "runtime/gemm_block_code.h"

using PackedByte = uint32_t;
#include "runtime/gemm_kernels_code.h"

}  // namespace

constinit const GemmBlockKernels gemm_kernels_plain = all_kernels();

}  // namespace cleave::runtime
