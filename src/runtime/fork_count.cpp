#include "runtime/fork_count.h"

#include <pthread.h>

#include <atomic>

namespace cleave {
namespace {

std::atomic<uint32_t> count{0};

}  // namespace

uint32_t runtime::fork_count() {
  [[maybe_unused]] static const int registered =
      pthread_atfork(nullptr, nullptr, [] { count.fetch_add(1, std::memory_order_relaxed); });
  return count.load(std::memory_order_relaxed);
}

}  // namespace cleave
