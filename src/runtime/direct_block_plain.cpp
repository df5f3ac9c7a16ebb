// direct_block.h for any processor.
#include <array>
#include <cstdlib>
#include <cstring>
#include <type_traits>
#include <utility>

#include "runtime/direct_block.h"
#include "runtime/half.h"

namespace cleave::runtime {
namespace {

#include "runtime/vec_plain.h"

#include "runtime/direct_code.h"

}  // namespace

constinit const DirectKernels direct_kernels_plain = all_kernels();

}  // namespace cleave::runtime
