// The guarantees of Executor: each piece runs once, with any number of callers, nested or not.
// tests: thread_crew.cpp openmp_pool.cpp
#include <dlfcn.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <random>
#include <thread>
#include <vector>

#include "cleave/executor.h"
#include "runtime/alloc_watch.h"
#include "test/emulated.h"

namespace cleave {
namespace {

struct Counts {
  explicit Counts(long pieces) : hits(static_cast<size_t>(pieces)) {}
  std::vector<std::atomic<int>> hits;
  static void hit(void* context, long piece) {
    static_cast<Counts*>(context)->hits[static_cast<size_t>(piece)].fetch_add(1);
  }
  void expect_all(int times) const {
    for (size_t i = 0; i < hits.size(); ++i) ASSERT_EQ(hits[i].load(), times) << "piece " << i;
  }
};

// Cleave's own threads, or those of OpenMP.
struct Pool {
  bool openmp;
  int threads;
};

class ThreadPool : public testing::TestWithParam<Pool> {
 protected:
  void SetUp() override {
    if (GetParam().openmp && !dlopen("libgomp.so.1", RTLD_LAZY | RTLD_GLOBAL))
      GTEST_SKIP() << "libgomp isn't installed";
  }
  static std::shared_ptr<Executor> pool() {
    const auto [openmp, threads] = GetParam();
    return openmp ? make_openmp_pool(threads) : make_thread_pool(threads);
  }
};
INSTANTIATE_TEST_SUITE_P(Threads, ThreadPool,
                         testing::Values(Pool{false, 1}, Pool{false, 2}, Pool{false, 3},
                                         Pool{false, 5}, Pool{false, 16}, Pool{true, 1},
                                         Pool{true, 2}, Pool{true, 5}, Pool{true, 16}),
                         [](const auto& info) {
                           return (info.param.openmp ? "openmp" : "own") +
                                  std::to_string(info.param.threads);
                         });

TEST_P(ThreadPool, RunsEachPieceOnce) {
  const auto pool = this->pool();
  EXPECT_EQ(pool->threads(), GetParam().threads);
  for (const long pieces : {0L, 1L, 2L, 3L, 17L, 1000L}) {
    Counts counts(pieces);
    for (int round = 0; round < 50; ++round) pool->parallel_for(pieces, Counts::hit, &counts);
    counts.expect_all(50);
  }
}

TEST_P(ThreadPool, ResultsOfPiecesAreSeenByTheCaller) {
  const auto pool = this->pool();
  std::vector<long> plain(64);  // not atomic: the pool has to order the writes
  for (long round = 1; round <= 300; ++round) {
    struct Job {
      std::vector<long>* out;
      long round;
    } job{&plain, round};
    pool->parallel_for(
        64,
        [](void* context, long piece) {
          const auto* job = static_cast<Job*>(context);
          (*job->out)[static_cast<size_t>(piece)] += job->round * piece;
        },
        &job);
    for (long i = 0; i < 64; ++i)
      ASSERT_EQ(plain[static_cast<size_t>(i)], i * round * (round + 1) / 2);
  }
}

TEST_P(ThreadPool, NestedCallsRunInside) {
  const auto pool = this->pool();
  struct Job {
    Executor* pool;
    Counts inner{8 * 16};
  } job{pool.get()};
  struct Row {
    Job* job;
    long row;
  };
  pool->parallel_for(
      8,
      [](void* context, long row) {
        Row mine{static_cast<Job*>(context), row};
        mine.job->pool->parallel_for(
            16,
            [](void* inside, long column) {
              const auto* row = static_cast<Row*>(inside);
              row->job->inner.hits[static_cast<size_t>(row->row * 16 + column)].fetch_add(1);
            },
            &mine);
      },
      &job);
  job.inner.expect_all(1);
}

TEST_P(ThreadPool, ConcurrentCallers) {
  const auto pool = this->pool();
  constexpr int callers = 3, rounds = 200;
  std::vector<std::unique_ptr<Counts>> counts;
  for (int i = 0; i < callers; ++i) counts.push_back(std::make_unique<Counts>(37));
  std::vector<std::thread> threads;
  for (int i = 0; i < callers; ++i)
    threads.emplace_back([&, i] {
      for (int round = 0; round < rounds; ++round)
        pool->parallel_for(37, Counts::hit, counts[static_cast<size_t>(i)].get());
    });
  for (std::thread& thread : threads) thread.join();
  for (const auto& count : counts) count->expect_all(rounds);
}

// What runs within is the caller's thread; many jobs take the same threads; what it throws comes
// out.
TEST_P(ThreadPool, RunsWithThreadsAtHand) {
  const auto pool = this->pool();
  struct Run {
    Executor& pool;
    std::thread::id caller = std::this_thread::get_id();
    Counts counts{23};
    bool throws = false;
  } run{*pool};
  const auto body = [](void* given) {
    Run& r = *static_cast<Run*>(given);
    EXPECT_EQ(std::this_thread::get_id(), r.caller);
    const auto jobs = [](void* inner) {
      Run& all = *static_cast<Run*>(inner);
      for (int job = 0; job < 100; ++job) all.pool.parallel_for(23, Counts::hit, &all.counts);
    };
    jobs(&r);
    r.pool.with_threads(jobs, &r);
    if (r.throws) throw std::runtime_error("from within");
  };
  for (int round = 0; round < 5; ++round) pool->with_threads(body, &run);
  run.throws = true;
  EXPECT_THROW(pool->with_threads(body, &run), std::runtime_error);
  run.counts.expect_all(6 * 200);
}

TEST_P(ThreadPool, ConcurrentRuns) {
  const auto pool = this->pool();
  struct Run {
    Executor& pool;
    Counts counts{37};
  };
  std::vector<std::unique_ptr<Run>> runs;
  for (int i = 0; i < 3; ++i) runs.push_back(std::make_unique<Run>(*pool));
  {
    std::vector<std::jthread> threads;
    for (const auto& run : runs)
      threads.emplace_back([&] {
        for (int round = 0; round < 50; ++round)
          run->pool.with_threads(
              [](void* given) {
                Run& r = *static_cast<Run*>(given);
                for (int job = 0; job < 20; ++job) r.pool.parallel_for(37, Counts::hit, &r.counts);
              },
              run.get());
      });
  }
  for (const auto& run : runs) run->counts.expect_all(50 * 20);
}

// OpenMP has no more threads in the child of a fork.
TEST_P(ThreadPool, InTheChildOfAForkTheCallerRunsAll) {
  if (test::is_emulated()) GTEST_SKIP() << "emulated";
  const auto pool = this->pool();
  Counts counts(9);
  pool->parallel_for(9, Counts::hit, &counts);
  const pid_t child = fork();
  if (child == 0) {
    pool->parallel_for(9, Counts::hit, &counts);
    for (const auto& hit : counts.hits)
      if (hit.load() != 2) _exit(1);
    try {
      make_openmp_pool(2);
      _exit(2);
    } catch (const Error& error) {
      _exit(std::string(error.what()).find("in the child of a fork") == std::string::npos ? 3 : 0);
    }
  }
  int status = -1;
  waitpid(child, &status, 0);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << status;
}

TEST(OpenMpPool, OfARuntimeThatIsNotLoadedIsRefused) {
  try {
    make_openmp_pool(2, "/no/such/runtime");
    FAIL() << "no error";
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::user);
    EXPECT_STREQ(
        error.what(),
        "make_openmp_pool: no OpenMP runtime with /no/such/runtime in its path is loaded in "
        "this process (libgomp, libomp, libiomp5): load it before, or use "
        "make_thread_pool");
  }
}

TEST(OpenMpPool, NegativeIsRefused) {
  try {
    make_openmp_pool(-1);
    FAIL() << "no error";
  } catch (const Error& error) {
    EXPECT_STREQ(error.what(), "make_openmp_pool: threads: -1, expected 0 to 16384");
  }
}

TEST(ThreadPoolUse, PiecesRunOnMoreThanOneThread) {
  const auto pool = make_thread_pool(2);
  std::atomic<int> arrived{0};
  // Each of two pieces waits for the other: with one thread this would never end.
  pool->parallel_for(
      2,
      [](void* context, long) {
        auto* count = static_cast<std::atomic<int>*>(context);
        count->fetch_add(1);
        while (count->load() < 2) std::this_thread::yield();
      },
      &arrived);
  EXPECT_EQ(arrived.load(), 2);
}

// The first caller has the workers until its job ends. The second one begins alone; its last two
// pieces wait for each other, so they need the workers that became free in between.
TEST(ThreadPoolUse, ASecondCallerGetsTheWorkersWhenTheyAreFree) {
  const auto pool = make_thread_pool(2);
  struct Shared {
    std::atomic<int> first_inside{0}, second_begun{0}, arrived{0};
    std::atomic<bool> first_done{false};
  } shared;
  std::jthread first([&] {
    pool->parallel_for(
        2,
        [](void* context, long) {
          auto& s = *static_cast<Shared*>(context);
          s.first_inside.fetch_add(1);
          while (s.second_begun.load() == 0) std::this_thread::yield();
        },
        &shared);
    shared.first_done.store(true);
  });
  while (shared.first_inside.load() < 2) std::this_thread::yield();
  pool->parallel_for(
      3,
      [](void* context, long piece) {
        auto& s = *static_cast<Shared*>(context);
        if (piece == 0) {
          s.second_begun.store(1);
          while (!s.first_done.load()) std::this_thread::yield();
          return;
        }
        s.arrived.fetch_add(1);
        while (s.arrived.load() < 2) std::this_thread::yield();
      },
      &shared);
  EXPECT_EQ(shared.arrived.load(), 2);
}

TEST(ThreadPoolUse, WakesAfterSleeping) {
  const auto pool = make_thread_pool(2);
  for (int round = 0; round < 5; ++round) {
    std::this_thread::sleep_for(std::chrono::milliseconds(5));  // longer than any spinning
    Counts counts(9);
    pool->parallel_for(9, Counts::hit, &counts);
    counts.expect_all(1);
  }
}

// A job of fewer pieces than threads leaves the workers that it doesn't need alone; they take part
// in the next one that needs them.
TEST(ThreadPoolUse, JobsOfChangingSizesRunEachPieceOnce) {
  const auto pool = make_thread_pool(6);
  std::mt19937 random(1);
  std::vector<int> hits;
  for (int job = 0; job < 20000; ++job) {
    hits.assign(1 + random() % 16, 0);
    pool->parallel_for(
        std::ssize(hits),
        [](void* context, long piece) { ++(*static_cast<std::vector<int>*>(context))[piece]; },
        &hits);
    ASSERT_EQ(hits, std::vector<int>(hits.size(), 1)) << "job " << job;
  }
}

TEST(ThreadPoolUse, OneForEachCoreByDefault) { EXPECT_GE(make_thread_pool()->threads(), 1); }

TEST(ThreadPoolUse, NegativeIsRefused) {
  try {
    make_thread_pool(-3);
    FAIL() << "no error";
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::user);
    EXPECT_STREQ(error.what(), "make_thread_pool: threads: -3, expected 0 or more");
  }
}

TEST(ThreadPoolUse, TooManyAreRefused) {
  try {
    make_thread_pool(100'000);
    FAIL() << "no error";
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::user);
    EXPECT_STREQ(error.what(), "make_thread_pool: threads: 100000, expected at most 16384");
  }
}

TEST(ThreadPoolUse, ParallelForDoesNotAllocate) {
  if (!runtime::AllocWatch::available()) GTEST_SKIP() << "malloc is not interposed";
  const auto pool = make_thread_pool(2);
  Counts counts(64);
  pool->parallel_for(64, Counts::hit, &counts);
  runtime::AllocWatch watch;
  watch.start();
  for (int round = 0; round < 100; ++round) pool->parallel_for(64, Counts::hit, &counts);
  const runtime::AllocCounts seen = watch.stop();
  EXPECT_EQ(seen.allocations, 0);
  EXPECT_EQ(seen.mmap_bytes, 0);
}

}  // namespace
}  // namespace cleave
