// direct_block.h for aarch64.
#include <array>
#include <cstdlib>
#include <cstring>
#include <type_traits>
#include <utility>

#include "runtime/direct_block.h"
#include "runtime/half.h"

#include "runtime/neon_begin.h"

namespace cleave::runtime {
namespace {

#include "runtime/vec_neon.h"

#include "runtime/direct_code.h"

}  // namespace

constinit const DirectKernels direct_kernels_neon = all_kernels();

}  // namespace cleave::runtime

#include "runtime/neon_end.h"
