#include "base/resident_bytes.h"

#include <gtest/gtest.h>
#include <sys/mman.h>

#include <cstddef>

namespace cleave {
namespace {

TEST(ResidentBytes, grow_with_memory_that_is_touched) {
  constexpr size_t bytes = size_t{64} << 20;
  void* memory = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  ASSERT_NE(memory, MAP_FAILED);
  const int64_t before = resident_bytes();
  if (before == 0) GTEST_SKIP() << "no /proc";
  for (size_t k = 0; k < bytes; k += 4096) static_cast<volatile char*>(memory)[k] = 1;
  const int64_t grown = resident_bytes() - before;
  EXPECT_GT(grown, static_cast<int64_t>(bytes) * 3 / 4);
  EXPECT_LT(grown, static_cast<int64_t>(bytes) * 2);
  munmap(memory, bytes);
}

}  // namespace
}  // namespace cleave
