// What the calls of one run share.
#pragma once
#include <cstdint>

#include "cleave/executor.h"

namespace cleave {

struct RunContext {
  Executor& executor;     // the threads of the host
  void* queue = nullptr;  // of the arena's device, on which calls run in order; null: the host
  void* fault = nullptr;  // ArenaMemory::fault
  int64_t thunk = 0;      // the call's number in its program, which a failed check names
};

}  // namespace cleave
