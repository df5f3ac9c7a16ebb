// Compares kernels by structure.
#pragma once
#include "loop/kernel.h"

namespace cleave::loop {

// Where two kernels differ, as a sentence; empty where they are equal: names, arguments, work, and
// statements in order with all that they hold. Variables are the same where the same statement
// gives them, and bear the same name; their numbers mean nothing.
std::string difference(const Kernel& a, const Kernel& b);

}  // namespace cleave::loop
