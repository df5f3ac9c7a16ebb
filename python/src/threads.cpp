// The threads that programs of this process run on.
#include <map>
#include <mutex>

#include "bindings.h"
#include "cleave/error.h"
#include "cleave/executor.h"

namespace cleave::python {

std::shared_ptr<Executor> threads_of_openmp(int threads) {
  static std::mutex mutex;
  static std::map<int, std::shared_ptr<Executor>> pools;  // by their number of threads
  for (const char* library : {"/torch", ""}) {            // PyTorch's, where it brings one
    try {
      const std::shared_ptr<Executor> pool = make_openmp_pool(threads, library);
      const std::lock_guard lock(mutex);
      return pools.try_emplace(pool->threads(), pool).first->second;
    } catch (const Error&) {}
  }
  return nullptr;
}

}  // namespace cleave::python
