// The thread pools of this process that programs share: one for each number of threads.
//
// A pool lives as long as somebody holds it, so its threads end with the last program that uses it.
// In the child of a fork the pools of the parent are not found: a program that is compiled there
// has a new one, those of the parent run on the calling thread (thread_pool.cpp).
#pragma once
#include <memory>

#include "base/result.h"
#include "cleave/executor.h"

namespace cleave::runtime {

// `threads` as in start_threads; 0 and the number of cores are the same pool. Thread-safe. Errors:
// those of start_threads.
Result<std::shared_ptr<Executor>> shared_threads(int threads);

}  // namespace cleave::runtime
