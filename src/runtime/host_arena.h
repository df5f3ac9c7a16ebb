// An arena of the host's memory, as programs take it.
#pragma once
#include <memory>

#include "base/result.h"
#include "run/arena_memory.h"

namespace cleave::runtime {

// Errors: those of Arena::make.
Result<std::unique_ptr<ArenaMemory>> make_host_arena(int64_t bytes);

}  // namespace cleave::runtime
