// Compares kernels by structure.
#pragma once
#include "loop/kernel.h"

namespace cleave::loop {

// Returns where two kernels differ, as a sentence; empty if they are equal: names, arguments, work,
// and statements in order with all their parts. Variables are equal if the same statement binds
// them and they have the same name; their numbers don't count.
std::string difference(const Kernel& a, const Kernel& b);

}  // namespace cleave::loop
