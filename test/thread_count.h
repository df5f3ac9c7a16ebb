// How many threads this process has.
#pragma once
#include <chrono>
#include <filesystem>
#include <thread>

namespace cleave::test {

inline int thread_count() {
  const std::filesystem::directory_iterator all("/proc/self/task");
  return static_cast<int>(std::distance(begin(all), end(all)));
}

// The count, once it is `expected`, or after some seconds: a thread that was joined may be listed
// for a moment.
inline int thread_count_near(int expected) {
  for (int turn = 0; turn < 2000 && thread_count() != expected; ++turn)
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
  return thread_count();
}

}  // namespace cleave::test
