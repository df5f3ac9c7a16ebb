// direct_block.h for processors with AVX2, FMA and F16C.
#include <array>
#include <cstdlib>
#include <cstring>
#include <type_traits>
#include <utility>

#include "runtime/direct_block.h"
#include "runtime/half.h"

#include "runtime/avx2_begin.h"

namespace cleave::runtime {
namespace {

#include "runtime/vec_avx2.h"

#include "runtime/direct_code.h"

}  // namespace

constinit const DirectKernels direct_kernels_avx2 = all_kernels();

}  // namespace cleave::runtime

#include "runtime/target_end.h"
