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

// What is always a constant of the function, because it is worth more to the compiler than one
// function more: loops of fewer iterations, smaller factors, divisors in inner loops.
struct KernelConstants {
  int64_t least_extent = 8, least_factor = 3;
  bool divisors = true;
};

// Returns the key. What the kernel's expressions share they share afterwards, where they still
// can.
std::string replace_numbers(loop::Kernel& kernel, const ReplaceNumber& replace,
                            const KernelConstants& constants = {});

}  // namespace cleave::schedule
