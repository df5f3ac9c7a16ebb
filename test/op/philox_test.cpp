// The published test vectors of Philox 4x32-10 (Random123 1.09, kat_vectors) and the layout of
// cleave's counters.
#include "op/philox_reference.h"

#include <gtest/gtest.h>

namespace cleave {
namespace {

using Words = std::array<uint32_t, 4>;

TEST(Philox, PublishedVectors) {
  constexpr uint32_t ones = 0xffffffffu;
  EXPECT_EQ(philox4x32_10({0, 0, 0, 0}, {0, 0}),
            (Words{0x6627e8d5u, 0xe169c58du, 0xbc57ac4cu, 0x9b00dbd8u}));
  EXPECT_EQ(philox4x32_10({ones, ones, ones, ones}, {ones, ones}),
            (Words{0x408f276du, 0x41c83b0eu, 0xa20bc7c6u, 0x6d5451fdu}));
  EXPECT_EQ(philox4x32_10({0x243f6a88u, 0x85a308d3u, 0x13198a2eu, 0x03707344u},
                          {0xa4093822u, 0x299f31d0u}),
            (Words{0xd16cfe09u, 0x94fdccebu, 0x5001e420u, 0x24126ea1u}));
}

TEST(Philox, LanesOfABlock) {
  const Words block = philox4x32_10({3, 0, 9, 5}, {7, 0});
  for (int64_t lane = 0; lane < 4; ++lane)
    EXPECT_EQ(random_word(7, 5, 9, 12 + lane), block[static_cast<size_t>(lane)]);
}

TEST(Philox, WideIndexAndSeed) {
  const int64_t seed = (int64_t{2} << 32) | 1, index = (int64_t{5} << 34) + 4;
  EXPECT_EQ(random_word(seed, 0, 0, index), philox4x32_10({1, 5, 0, 0}, {1, 2})[0]);
}

TEST(Philox, LowWordOfStepOnly) {
  const int64_t wrapped = int64_t{1} << 32;
  EXPECT_EQ(random_word(7, 5 + wrapped, 9, 0), random_word(7, 5, 9, 0));
  EXPECT_EQ(random_word(-1, -1, -1, 0), philox4x32_10({0, 0, ~0u, ~0u}, {~0u, ~0u})[0]);
}

TEST(Philox, StreamsAndStepsDiffer) {
  EXPECT_NE(random_word(7, 5, 9, 0), random_word(7, 5, 10, 0));
  EXPECT_NE(random_word(7, 5, 9, 0), random_word(7, 6, 9, 0));
  EXPECT_NE(random_word(7, 5, 9, 0), random_word(8, 5, 9, 0));
}

TEST(Philox, Uniform) {
  EXPECT_EQ(uniform_of(0), 0.0);
  EXPECT_EQ(uniform_of(255), 0.0);
  EXPECT_EQ(uniform_of(256), 0x1p-24);
  EXPECT_EQ(uniform_of(0xffffffffu), 1 - 0x1p-24);
  EXPECT_EQ(uniform_of(0x80000000u), 0.5);
}

}  // namespace
}  // namespace cleave
