// One pool for each number of threads, which ends with its last user; and what a fork leaves of it.
// tests: fork_count.cpp
#include "runtime/shared_threads.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <numeric>
#include <thread>
#include <vector>

#include "test/emulated.h"
#include "test/thread_count.h"

namespace cleave {
namespace {

using test::thread_count_near;

std::shared_ptr<Executor> shared(int threads) {
  return value_or_throw(runtime::shared_threads(threads));
}

long sum_to(Executor& executor, long pieces) {
  std::vector<long> of(static_cast<size_t>(pieces));
  executor.parallel_for(
      pieces,
      [](void* context, long i) {
        (*static_cast<std::vector<long>*>(context))[static_cast<size_t>(i)] = i;
      },
      &of);
  return std::accumulate(of.begin(), of.end(), 0L);
}

TEST(SharedThreads, are_one_pool_for_a_number_of_threads) {
  const auto three = shared(3);
  EXPECT_EQ(three->threads(), 3);
  EXPECT_EQ(shared(3), three);
  EXPECT_NE(shared(2), three);
  EXPECT_EQ(shared(0), shared(static_cast<int>(std::thread::hardware_concurrency())));
}

TEST(SharedThreads, end_with_their_last_user) {
  if (test::is_emulated()) GTEST_SKIP() << "threads that have ended are counted in an emulator";
  const int before = test::thread_count();
  auto one = shared(4);
  EXPECT_EQ(thread_count_near(before + 3), before + 3);
  auto other = shared(4);
  EXPECT_EQ(thread_count_near(before + 3), before + 3);
  one.reset();
  EXPECT_EQ(sum_to(*other, 100), 4950);
  other.reset();
  EXPECT_EQ(thread_count_near(before), before);
  EXPECT_EQ(sum_to(*shared(4), 100), 4950);  // and begin again
  EXPECT_EQ(thread_count_near(before), before);
}

TEST(SharedThreads, are_one_pool_for_callers_on_several_threads) {
  std::vector<std::shared_ptr<Executor>> seen(8);
  {
    std::vector<std::jthread> callers;
    for (auto& pool : seen) callers.emplace_back([&pool] { pool = shared(3); });
  }
  for (const auto& pool : seen) EXPECT_EQ(pool, seen[0]);
}

TEST(SharedThreads, a_negative_number_is_refused) {
  const auto made = runtime::shared_threads(-2);
  ASSERT_FALSE(made.ok());
  EXPECT_EQ(made.failure().message, "make_thread_pool: threads: -2, expected 0 or more");
}

// The child has the pool's memory without its threads. That it ends at all is part of the test.
TEST(SharedThreads, in_the_child_of_a_fork_work_runs_on_the_calling_thread) {
  if (test::is_emulated()) GTEST_SKIP() << "no fork of a process with threads in an emulator";
  auto pool = shared(3);
  EXPECT_EQ(sum_to(*pool, 1000), 499500);
  const pid_t child = fork();
  if (child == 0) {
    int wrong = thread_count_near(1) == 1 ? 0 : 1;
    wrong |= sum_to(*pool, 1000) == 499500 ? 0 : 2;
    auto own = shared(3);  // a pool of the child
    wrong |= own != pool && thread_count_near(3) == 3 && sum_to(*own, 1000) == 499500 ? 0 : 4;
    own.reset();
    pool.reset();
    wrong |= thread_count_near(1) == 1 ? 0 : 8;
    _exit(wrong);
  }
  ASSERT_GT(child, 0);
  int status = -1;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  ASSERT_TRUE(WIFEXITED(status));
  EXPECT_EQ(WEXITSTATUS(status), 0);
  EXPECT_EQ(shared(3), pool);
  EXPECT_EQ(sum_to(*pool, 1000), 499500);
}

}  // namespace
}  // namespace cleave
