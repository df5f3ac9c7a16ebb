#include "runtime/thread_crew.h"

#include <algorithm>

namespace cleave::runtime {
namespace {

// About 30 us on a 2.4 GHz Zen 3: longer than the gap between two kernels of a run, and short
// enough not to burden an idle host program (2026-11).
constexpr int spin_turns = 1500;

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

}  // namespace

ThreadCrew::ThreadCrew(int threads) : shares_(static_cast<size_t>(std::max(threads, 1))) {}

uint64_t ThreadCrew::expect(int count) {
  stopping_.store(false, std::memory_order_relaxed);
  present_.store(std::min(static_cast<size_t>(std::max(count, 1)), shares_.size()),
                 std::memory_order_release);
  return job_.load(std::memory_order_relaxed);
}

void ThreadCrew::dismiss() {
  while (busy_.exchange(true)) pause();
  present_.store(1, std::memory_order_relaxed);
  stopping_.store(true, std::memory_order_relaxed);
  announce(0);
  busy_.store(false, std::memory_order_release);
}

void ThreadCrew::announce(uint64_t needed) {
  job_.store(++number_ << needed_bits | needed);
  job_.notify_all();
}

void ThreadCrew::take_pieces_of(Share& share) {
  while (share.next.load(std::memory_order_relaxed) < share.end) {
    const long piece = share.next.fetch_add(1, std::memory_order_relaxed);
    if (piece < share.end) f_(context_, piece);
  }
}

void ThreadCrew::take_others(size_t thread) {
  for (size_t k = 1; k < used_; ++k) take_pieces_of(shares_[(thread + k) % used_]);
}

void ThreadCrew::work(size_t thread, uint64_t since) {
  Share& own = shares_[thread];
  for (uint64_t seen = since;;) {
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

void ThreadCrew::run(long pieces, void (*f)(void*, long), void* context, bool alone) {
  const auto is_free = [&] {
    return present_.load(std::memory_order_relaxed) > 1 && !busy_.load(std::memory_order_relaxed) &&
           !busy_.exchange(true);
  };
  long first = 0;
  // The last piece needs no workers.
  while (first < pieces && (alone || first == pieces - 1 || !is_free())) f(context, first++);
  if (first >= pieces) return;
  f_ = f;
  context_ = context;
  const long count = pieces - first;
  const long threads = static_cast<long>(present_.load(std::memory_order_acquire));
  const long used = std::min(count, threads);
  used_ = static_cast<size_t>(used);
  is_even_ = count <= threads;
  for (long i = 0; i < used; ++i) {
    Share& share = shares_[static_cast<size_t>(i)];
    share.next.store(first + count * i / used, std::memory_order_relaxed);
    share.end = first + count * (i + 1) / used;
  }
  announce(used_ - 1);
  const uint64_t shut = 2 * number_;
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

}  // namespace cleave::runtime
