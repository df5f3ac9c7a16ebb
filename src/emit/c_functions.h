// kernel_functions.h and elementary_functions.h as C++, in a namespace of their own. A system
// header, because of C casts and macros.
#pragma once
#pragma GCC system_header
#include <cmath>
#include <cstdint>

namespace cleave::emit::c {

#include "emit/kernel_functions.h"
//
#include "emit/elementary_functions.h"

}  // namespace cleave::emit::c
