// All kinds of allocation are counted, in every thread, and only between start and stop.
#include "runtime/alloc_watch.h"

#include <gtest/gtest.h>
#include <malloc.h>
#include <sys/mman.h>

#include <cstdlib>
#include <memory>
#include <thread>
#include <vector>

namespace cleave::runtime {
namespace {

// Hides a pointer from the compiler, which may leave out a malloc that only a free follows.
template <class T>
T* seen(T* pointer) {
  asm volatile("" : "+r"(pointer) : : "memory");
  return pointer;
}

class AllocWatchTest : public testing::Test {
 protected:
  void SetUp() override {
    if (!AllocWatch::available()) GTEST_SKIP() << "malloc is not interposed";
  }
  template <class F>
  AllocCounts watched(F f) {
    AllocWatch watch;
    watch.start();
    f();
    return watch.stop();
  }
};

TEST_F(AllocWatchTest, NothingIsNothing) {
  const AllocCounts counts = watched([] {});
  EXPECT_EQ(counts.allocations, 0);
  EXPECT_EQ(counts.allocated_bytes, 0);
  EXPECT_EQ(counts.live_bytes, 0);
  EXPECT_EQ(counts.peak_live_bytes, 0);
}

TEST_F(AllocWatchTest, EachFunctionCounts) {
  EXPECT_EQ(watched([] { free(seen(malloc(100))); }).allocated_bytes, 100);
  EXPECT_EQ(watched([] { free(seen(calloc(10, 7))); }).allocated_bytes, 70);
  EXPECT_EQ(watched([] { free(seen(aligned_alloc(64, 128))); }).allocated_bytes, 128);
  EXPECT_EQ(watched([] { free(seen(memalign(64, 130))); }).allocated_bytes, 130);
  EXPECT_EQ(watched([] { delete seen(new int64_t(3)); }).allocated_bytes, 8);
  EXPECT_EQ(watched([] {
              void* block = nullptr;
              EXPECT_EQ(posix_memalign(&block, 256, 99), 0);
              EXPECT_EQ(reinterpret_cast<uintptr_t>(block) % 256, 0u);
              free(seen(block));
            }).allocated_bytes,
            99);
  const AllocCounts counts = watched([] {
    std::vector<std::unique_ptr<int>> many;
    many.reserve(10);
    for (int i = 0; i < 10; ++i) many.push_back(std::make_unique<int>(i));
  });
  EXPECT_EQ(counts.allocations, 11);
  EXPECT_EQ(counts.frees, 11);
  EXPECT_EQ(counts.live_bytes, 0);
}

TEST_F(AllocWatchTest, ReallocMovesTheLiveBytes) {
  void* block = nullptr;
  const AllocCounts grown = watched([&] { block = realloc(seen(malloc(1000)), 5000); });
  EXPECT_EQ(grown.allocations, 2);
  EXPECT_GE(grown.live_bytes, 5000);
  EXPECT_LT(grown.live_bytes, 5100);
  EXPECT_LT(watched([&] { free(seen(block)); }).live_bytes, -4999);
}

TEST_F(AllocWatchTest, PeakIsTheHighestAtOnce) {
  const AllocCounts counts = watched([] {
    for (int i = 0; i < 10; ++i) free(seen(malloc(10000)));
    void* a = seen(malloc(20000));
    void* b = seen(malloc(30000));
    free(a);
    free(b);
  });
  EXPECT_EQ(counts.allocated_bytes, 150000);
  EXPECT_GE(counts.peak_live_bytes, 50000);
  EXPECT_LT(counts.peak_live_bytes, 50200);
  EXPECT_EQ(counts.live_bytes, 0);
}

TEST_F(AllocWatchTest, MapsCount) {
  const AllocCounts counts = watched([] {
    void* block =
        mmap(nullptr, 1 << 20, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    static_cast<char*>(block)[5] = 1;
    munmap(block, 1 << 20);
  });
  EXPECT_EQ(counts.maps, 1);
  EXPECT_EQ(counts.mmap_bytes, 1 << 20);
  EXPECT_EQ(counts.peak_live_bytes, 1 << 20);
  EXPECT_EQ(counts.live_bytes, 0);
}

TEST_F(AllocWatchTest, OtherThreadsCount) {
  std::atomic<int> step{0};
  std::thread other([&] {
    while (step.load() != 1) std::this_thread::yield();
    for (int i = 0; i < 100; ++i) free(seen(malloc(64)));
    step = 2;
  });
  const AllocCounts counts = watched([&] {
    step = 1;
    while (step.load() != 2) std::this_thread::yield();
  });
  other.join();
  EXPECT_EQ(counts.allocations, 100);
}

TEST_F(AllocWatchTest, OutsideTheWatchNothingCounts) {
  AllocWatch watch;
  watch.start();
  const AllocCounts counts = watch.stop();
  free(seen(malloc(10)));
  EXPECT_EQ(watch.counts().allocations, counts.allocations);
}

TEST(AllocWatchAvailable, InThisProgramUnlessSanitized) {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  constexpr bool sanitized = true;
#elif defined(__has_feature)
  constexpr bool sanitized = __has_feature(address_sanitizer) || __has_feature(thread_sanitizer);
#else
  constexpr bool sanitized = false;
#endif
  EXPECT_EQ(AllocWatch::available(), !sanitized);
}

}  // namespace
}  // namespace cleave::runtime
