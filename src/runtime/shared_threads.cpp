#include "runtime/shared_threads.h"

#include <cstddef>
#include <map>
#include <mutex>
#include <new>
#include <thread>

#include "runtime/fork_count.h"
#include "runtime/thread_pool.h"

namespace cleave {
namespace {

struct Pools {
  std::mutex mutex;
  std::map<std::pair<uint32_t, int>, std::weak_ptr<Executor>> all;  // by fork_count and threads
};

// Never destroyed, as a program may be compiled while the process ends; and in memory that leaves
// with this code, as a library of it may be unloaded (standalone/).
Pools& pools() {
  alignas(Pools) static std::byte memory[sizeof(Pools)];
  static Pools& pools = *new (memory) Pools;
  return pools;
}

// Ends the pool with its last holder, and forgets it.
std::shared_ptr<Executor> forgotten_at_end(std::shared_ptr<Executor> started) {
  Executor* const pool = started.get();
  return {pool, [started = std::move(started)](Executor*) mutable {
            started.reset();
            Pools& known = pools();
            const std::lock_guard lock(known.mutex);
            std::erase_if(known.all, [](const auto& item) { return item.second.expired(); });
          }};
}

}  // namespace

Result<std::shared_ptr<Executor>> runtime::shared_threads(int threads) {
  if (threads == 0) threads = static_cast<int>(std::thread::hardware_concurrency());
  Pools& known = pools();
  const std::lock_guard lock(known.mutex);
  const std::pair key{fork_count(), threads};
  if (const auto at = known.all.find(key); at != known.all.end())
    if (auto running = at->second.lock()) return running;
  CLEAVE_TRY(auto started, start_threads(threads));
  auto shared = forgotten_at_end(std::move(started));
  known.all[key] = shared;
  return shared;
}

}  // namespace cleave
