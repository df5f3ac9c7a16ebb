// The Executor of make_thread_pool.
//
// One job at a time. A job is (f, context) and a share of its pieces for each thread: neighbouring
// pieces, so that what a thread writes in one job it reads in the next one, from its own cache (two
// cores of a Zen 5 run convolutions in 0.75 of the time of taking the next piece of all, 2026-11).
// A job of fewer pieces than threads needs as many threads as it has pieces.
//
//   job_      one line that all workers read: number of the job, and how many workers it needs
//   Share     a line for each thread: its pieces, and whether it is at work on them
//
//   caller   write the shares | job_ = number, needed; wake sleepers | take pieces |
//            for each share: shut it; is its worker inside? wait
//   worker   wait for a new job_ | needed, and not shut? inside | take pieces | shut
//
// A share's state is 2 * job while it is shut for that job and all before it, 2 * job + 1 while its
// worker is inside. Each piece is run by a worker that is inside or by the caller, who takes what
// workers that come too late have left. So when all shares are shut, all pieces are done and
// nobody reads the job: the next one can be written. No word is written by more than two threads at
// a time, so that a job costs little more than its lines' ways from core to core, side by side.
//
// A call from inside a piece, or from a second thread while a job runs, runs its pieces on the
// calling thread, and before each of them asks for the workers again: what is left becomes a job as
// soon as the other one is done. So callers never wait for each other, and workers are idle only
// while nobody has work.
//
// Waiting spins for a bounded time, then sleeps in the kernel. Only start() allocates. Workers
// block all signals, which are left to the threads of the host program. In the child of a fork
// there are no workers: all pieces run on the calling thread, and nothing is joined.
#include "runtime/thread_pool.h"

#include <pthread.h>
#include <signal.h>

#include <algorithm>
#include <atomic>
#include <cstring>
#include <thread>
#include <vector>

#include "runtime/fork_count.h"

namespace cleave {
namespace {

// About 30 us on a 2.4 GHz Zen 3: longer than the gap between two kernels of a run, and short
// enough not to burden an idle host program (2026-11).
constexpr int spin_turns = 1500;
constexpr int most_threads = 1 << 14;

inline void pause() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  __asm__ volatile("yield");
#endif
}

// Returns when `value` is no longer `seen`.
template <class T>
void wait_while(const std::atomic<T>& value, T seen) {
  for (int turn = 0; turn < spin_turns; ++turn) {
    if (value.load(std::memory_order_acquire) != seen) return;
    pause();
  }
  value.wait(seen, std::memory_order_acquire);
}

class ThreadPool final : public Executor {
 public:
  // Once. Error (user): the system starts no more threads.
  Status start(int threads);
  ~ThreadPool() override { stop(); }
  int threads() const override { return static_cast<int>(workers_.size()) + 1; }
  void parallel_for(long pieces, void (*f)(void*, long), void* context) override;

 private:
  // job_ is number << needed_bits | workers needed.
  static constexpr int needed_bits = 16;
  static constexpr uint64_t needed_mask = (uint64_t{1} << needed_bits) - 1;

  struct alignas(64) Share {
    std::atomic<uint64_t> state{0};
    std::atomic<long> next{0};
    long end = 0;
  };

  bool is_forked() const { return runtime::fork_count() != fork_count_; }
  void work(size_t thread);
  void take_pieces_of(Share& share);
  void take_others(size_t thread);
  void stop();

  // Written by the caller while all shares are shut.
  void (*f_)(void*, long) = nullptr;
  void* context_ = nullptr;
  size_t used_ = 0;      // shares of this job
  bool is_even_ = true;  // at most a piece in each: the caller alone takes what others have left
  std::vector<Share> shares_;
  uint64_t number_ = 0;

  alignas(64) std::atomic<uint64_t> job_{0};
  alignas(64) std::atomic<bool> busy_{false};
  std::atomic<bool> stopping_{false};
  std::atomic<size_t> started_{0};
  const uint32_t fork_count_ = runtime::fork_count();
  std::vector<pthread_t> workers_;  // no std::thread: in the child of a fork it can't be let go
};

Status ThreadPool::start(int threads) {
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  Status started;
  shares_ = std::vector<Share>(static_cast<size_t>(std::max(threads, 1)));
  for (int i = 1; i < threads && started.ok(); ++i) {
    const auto enter = [](void* pool) -> void* {
      auto* const here = static_cast<ThreadPool*>(pool);
      here->work(here->started_.fetch_add(1) + 1);
      return nullptr;
    };
    pthread_t worker;
    if (const int error = pthread_create(&worker, nullptr, enter, this); error == 0)
      workers_.push_back(worker);
    else
      started = user_error("make_thread_pool: {} threads can't be started: {}", threads,
                           std::strerror(error));
  }
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  return started;
}

void ThreadPool::stop() {
  if (is_forked()) return;
  stopping_.store(true, std::memory_order_relaxed);
  job_.fetch_add(uint64_t{1} << needed_bits);
  job_.notify_all();
  for (const pthread_t worker : workers_) pthread_join(worker, nullptr);
}

void ThreadPool::take_pieces_of(Share& share) {
  while (share.next.load(std::memory_order_relaxed) < share.end) {
    const long piece = share.next.fetch_add(1, std::memory_order_relaxed);
    if (piece < share.end) f_(context_, piece);
  }
}

void ThreadPool::take_others(size_t thread) {
  for (size_t k = 1; k < used_; ++k) take_pieces_of(shares_[(thread + k) % used_]);
}

void ThreadPool::work(size_t thread) {
  Share& own = shares_[thread];
  uint64_t seen = 0;
  for (;;) {
    wait_while(job_, seen);
    seen = job_.load(std::memory_order_acquire);
    if (stopping_.load(std::memory_order_relaxed)) return;
    if (thread > (seen & needed_mask)) continue;
    const uint64_t inside = 2 * (seen >> needed_bits) + 1;
    uint64_t state = own.state.load(std::memory_order_relaxed);
    if (state >= inside - 1 || !own.state.compare_exchange_strong(state, inside)) continue;
    take_pieces_of(own);
    if (!is_even_) take_others(thread);
    own.state.exchange(inside - 1);
    own.state.notify_all();
  }
}

void ThreadPool::parallel_for(long pieces, void (*f)(void*, long), void* context) {
  const bool alone = workers_.empty() || is_forked();
  long first = 0;
  // The last piece needs no workers.
  while (first < pieces && (alone || first == pieces - 1 || busy_.load(std::memory_order_relaxed) ||
                            busy_.exchange(true)))
    f(context, first++);
  if (first >= pieces) return;
  f_ = f;
  context_ = context;
  const long count = pieces - first, threads = static_cast<long>(shares_.size());
  const long used = std::min(count, threads);
  used_ = static_cast<size_t>(used);
  is_even_ = count <= threads;
  for (long i = 0; i < used; ++i) {
    Share& share = shares_[static_cast<size_t>(i)];
    share.next.store(first + count * i / used, std::memory_order_relaxed);
    share.end = first + count * (i + 1) / used;
  }
  const uint64_t shut = 2 * ++number_;
  job_.store(number_ << needed_bits | (used_ - 1));
  job_.notify_all();
  take_pieces_of(shares_[0]);
  take_others(0);
  for (size_t i = 1; i < used_; ++i) {
    std::atomic<uint64_t>& state = shares_[i].state;
    for (uint64_t now = state.load(std::memory_order_acquire); now != shut;) {
      if (now == shut + 1) {
        wait_while(state, now);
        now = state.load(std::memory_order_acquire);
      } else if (state.compare_exchange_strong(now, shut)) {
        break;
      }
    }
  }
  busy_.store(false, std::memory_order_release);
}

}  // namespace

Result<std::shared_ptr<Executor>> runtime::start_threads(int threads) {
  if (threads < 0) return user_error("make_thread_pool: threads: {}, expected 0 or more", threads);
  if (threads == 0) threads = static_cast<int>(std::thread::hardware_concurrency());
  if (threads > most_threads)
    return user_error("make_thread_pool: threads: {}, expected at most {}", threads, most_threads);
  const auto pool = std::make_shared<ThreadPool>();
  CLEAVE_CHECK(pool->start(threads));
  return std::shared_ptr<Executor>(pool);
}

std::shared_ptr<Executor> make_thread_pool(int threads) {
  return value_or_throw(runtime::start_threads(threads));
}

}  // namespace cleave
