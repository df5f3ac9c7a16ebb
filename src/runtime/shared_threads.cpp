#include "runtime/shared_threads.h"

#include <map>
#include <mutex>
#include <thread>

#include "runtime/fork_count.h"
#include "runtime/thread_pool.h"

namespace cleave {
namespace {

struct Pools {
  std::mutex mutex;
  std::map<std::pair<uint32_t, int>, std::weak_ptr<Executor>> all;  // by fork_count and threads
};

// Never destroyed: a program may be compiled while the process ends.
Pools& pools() {
  static Pools& pools = *new Pools;
  return pools;
}

}  // namespace

Result<std::shared_ptr<Executor>> runtime::shared_threads(int threads) {
  if (threads == 0) threads = static_cast<int>(std::thread::hardware_concurrency());
  Pools& known = pools();
  const std::lock_guard lock(known.mutex);
  std::weak_ptr<Executor>& pool = known.all[{fork_count(), threads}];
  if (auto running = pool.lock()) return running;
  CLEAVE_TRY(auto started, start_threads(threads));
  pool = started;
  return started;
}

}  // namespace cleave
