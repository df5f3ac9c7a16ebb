// The threads that programs of this process run on.
#include <map>
#include <mutex>

#include "bindings.h"
#include "cleave/error.h"
#include "cleave/executor.h"

namespace cleave::python {

std::shared_ptr<Executor> threads_of_openmp(int threads) {
  static std::mutex mutex;
  static std::map<int, std::shared_ptr<Executor>> pools;
  if (threads == 1) return nullptr;
  const std::lock_guard lock(mutex);
  if (const auto known = pools.find(threads); known != pools.end()) return known->second;
  for (const char* library : {"/torch", ""}) {  // PyTorch's, where it brings one
    try {
      return pools[threads] = make_openmp_pool(threads, library);
    } catch (const Error&) {}
  }
  return nullptr;  // asked again: it may be loaded later
}

}  // namespace cleave::python
