// The prelude's functions on one element as C++, in a namespace of their own: the build takes them
// from primitives.h, kernel_functions.h and elementary_functions.h (cmake/write_prelude.cmake). A
// system header, because of C casts and macros.
#pragma once
#pragma GCC system_header
#include <cmath>
#include <cstdint>

namespace cleave::emit::c {

#include "one_element.inc"

}  // namespace cleave::emit::c
