// The numbers of a scheduled kernel that may differ between kernels of one function, in order, and
// all else of it as a key: names and sizes of arguments count only where the code depends on them.
#pragma once
#include <functional>
#include <string>

#include "loop/kernel.h"

namespace cleave::schedule {

// Called with each constant that may vary, in the same order for kernels of one key; what it
// returns takes the constant's place.
using ReplaceNumber = std::function<loop::Expr(const loop::Expr& constant)>;

// Returns the key. What the kernel's expressions share they share afterwards, where they still
// can.
std::string replace_numbers(loop::Kernel& kernel, const ReplaceNumber& replace);

}  // namespace cleave::schedule
