#pragma once
#include "loop/kernel.h"

namespace cleave::schedule {

// One more than the largest number of a variable that the block binds.
int64_t next_variable(const loop::Block& block);

}  // namespace cleave::schedule
