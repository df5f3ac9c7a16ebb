// The arena's measurement of written memory, in units of 64 bytes.
#include "runtime/arena.h"

#include <gtest/gtest.h>

#include <cstring>

namespace cleave::runtime {
namespace {

TEST(Arena, HasTheBytesAlignedAndZeroed) {
  for (const int64_t bytes : {int64_t{1}, int64_t{64}, int64_t{5000}, int64_t{3} << 20}) {
    Arena arena = value_or_throw(Arena::make(bytes));
    EXPECT_EQ(arena.size_bytes(), bytes);
    EXPECT_EQ(reinterpret_cast<uintptr_t>(arena.data()) % 64, 0u);
    EXPECT_EQ(arena.data()[0], std::byte{0});
    EXPECT_EQ(arena.data()[bytes - 1], std::byte{0});
  }
}

TEST(Arena, TouchedIsTheHighestByteWritten) {
  Arena arena = value_or_throw(Arena::make(100000));
  arena.fill_pattern();
  EXPECT_EQ(arena.touched_bytes(), 0);
  for (const auto& [offset, want] :
       {std::pair<int64_t, int64_t>{0, 64}, {63, 64}, {64, 128}, {70000, 70016}, {99999, 100032}}) {
    arena.fill_pattern();
    arena.data()[offset] ^= std::byte{1};
    EXPECT_EQ(arena.touched_bytes(), want) << offset;
  }
}

TEST(Arena, ZerosAndOnesAndRepeatsAreSeen) {
  Arena arena = value_or_throw(Arena::make(1 << 16));
  for (const int value : {0x00, 0xff, 0x3f, 0x80}) {
    arena.fill_pattern();
    std::memset(arena.data(), value, 1 << 16);
    EXPECT_EQ(arena.touched_bytes(), 1 << 16);
  }
}

TEST(Arena, WritesBeyondTheEndAreSeen) {
  Arena arena = value_or_throw(Arena::make(5000));  // the mapping ends at 8192
  arena.fill_pattern();
  arena.data()[6000] = ~arena.data()[6000];
  EXPECT_GT(arena.touched_bytes(), arena.size_bytes());
}

TEST(Arena, Moves) {
  Arena first = value_or_throw(Arena::make(4096));
  std::byte* data = first.data();
  Arena second = std::move(first);
  EXPECT_EQ(second.data(), data);
  first = std::move(second);
  EXPECT_EQ(first.data(), data);
}

TEST(Arena, NothingIsFine) {
  Arena arena = value_or_throw(Arena::make(0));
  arena.fill_pattern();
  EXPECT_EQ(arena.touched_bytes(), 0);
  EXPECT_EQ(arena.size_bytes(), 0);
}

TEST(Arena, TooMuchNamesTheBytes) {
  for (const int64_t bytes : {int64_t{1} << 60, std::numeric_limits<int64_t>::max()}) {
    const auto arena = Arena::make(bytes);
    ASSERT_FALSE(arena.ok());
    EXPECT_EQ(arena.failure().kind, ErrorKind::user);
    EXPECT_NE(arena.failure().message.find(std::to_string(bytes)), std::string::npos)
        << arena.failure().message;
  }
}

// Also on systems that promise more than they have.
TEST(Arena, more_than_the_machine_has_is_refused) {
  const Result<Arena> arena = Arena::make(int64_t{1} << 45);
  ASSERT_FALSE(arena.ok());
  EXPECT_NE(arena.failure().message.find("can't be had from the system: this machine has "),
            std::string::npos)
      << arena.failure().message;
}

}  // namespace
}  // namespace cleave::runtime
