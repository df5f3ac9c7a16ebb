// direct_block.h for processors with AVX-512 F, BW, DQ and VL.
#include <array>
#include <cstdlib>
#include <cstring>
#include <type_traits>
#include <utility>

#include "runtime/direct_block.h"
#include "runtime/half.h"

#include "runtime/avx512_begin.h"

namespace cleave::runtime {
namespace {

#include "runtime/vec_avx512.h"

#include "runtime/direct_code.h"

}  // namespace

constinit const DirectKernels direct_kernels_avx512 = all_kernels();

}  // namespace cleave::runtime

#include "runtime/target_end.h"
