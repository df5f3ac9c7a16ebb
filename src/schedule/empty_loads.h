// What a kernel reads of buffers without elements: values that its statements name, and that no
// element uses.
#pragma once
#include "loop/kernel.h"

namespace cleave::schedule {

// Replaces these loads by 0, so that nothing is read where there is no memory.
void drop_empty_loads(loop::Kernel& kernel);

}  // namespace cleave::schedule
