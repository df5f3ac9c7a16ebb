// The Executor of make_thread_pool: a crew (thread_crew.h) of threads of its own.
//
// Workers block all signals, which are left to the threads of the host program. In the child of a
// fork there are no workers: all pieces run on the calling thread, and nothing is joined.
#include "runtime/thread_pool.h"

#include <pthread.h>
#include <signal.h>

#include <atomic>
#include <cstring>
#include <thread>
#include <vector>

#include "runtime/fork_count.h"
#include "runtime/thread_crew.h"

namespace cleave {
namespace {

constexpr int most_threads = 1 << 14;

class ThreadPool final : public Executor {
 public:
  explicit ThreadPool(int threads) : crew_(threads) {}
  // Once. Error (user): the system starts no more threads.
  Status start();
  ~ThreadPool() override { stop(); }
  int threads() const override { return static_cast<int>(workers_.size()) + 1; }
  void parallel_for(long pieces, void (*f)(void*, long), void* context) override {
    crew_.run(pieces, f, context, is_forked());
  }

 private:
  bool is_forked() const { return runtime::fork_count() != fork_count_; }
  void stop();

  runtime::ThreadCrew crew_;
  uint64_t since_ = 0;
  std::atomic<size_t> started_{0};
  const uint32_t fork_count_ = runtime::fork_count();
  std::vector<pthread_t> workers_;  // no std::thread: in the child of a fork it can't be let go
};

Status ThreadPool::start() {
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  Status started;
  since_ = crew_.expect(1);
  for (int i = 1; i < crew_.threads() && started.ok(); ++i) {
    const auto enter = [](void* given) -> void* {
      auto* const pool = static_cast<ThreadPool*>(given);
      pool->crew_.work(pool->started_.fetch_add(1) + 1, pool->since_);
      return nullptr;
    };
    pthread_t worker;
    if (const int error = pthread_create(&worker, nullptr, enter, this); error == 0)
      workers_.push_back(worker);
    else
      started = user_error("make_thread_pool: {} threads can't be started: {}", crew_.threads(),
                           std::strerror(error));
  }
  crew_.expect(threads());
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  return started;
}

void ThreadPool::stop() {
  if (is_forked()) return;
  crew_.dismiss();
  for (const pthread_t worker : workers_) pthread_join(worker, nullptr);
}

}  // namespace

Result<std::shared_ptr<Executor>> runtime::start_threads(int threads) {
  if (threads < 0) return user_error("make_thread_pool: threads: {}, expected 0 or more", threads);
  if (threads == 0) threads = static_cast<int>(std::thread::hardware_concurrency());
  if (threads > most_threads)
    return user_error("make_thread_pool: threads: {}, expected at most {}", threads, most_threads);
  const auto pool = std::make_shared<ThreadPool>(threads);
  CLEAVE_CHECK(pool->start());
  return std::shared_ptr<Executor>(pool);
}

std::shared_ptr<Executor> make_thread_pool(int threads) {
  return value_or_throw(runtime::start_threads(threads));
}

}  // namespace cleave
