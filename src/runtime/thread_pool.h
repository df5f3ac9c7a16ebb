// The Executor of make_thread_pool, for callers that return values.
#pragma once
#include <memory>

#include "base/result.h"
#include "cleave/executor.h"

namespace cleave::runtime {

// Errors (user): a negative number; the system starts no more threads.
Result<std::shared_ptr<Executor>> start_threads(int threads);

}  // namespace cleave::runtime
