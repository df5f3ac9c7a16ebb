#include "simt/shadow.h"

#include <gtest/gtest.h>

namespace cleave::simt {
namespace {

// Places of block 0: team, thread, how often the team has waited.
class ShadowOf : public testing::Test {
 protected:
  bool reads(int32_t team, int32_t thread, int64_t waits, int64_t block = 0) {
    return !shadow.read(&element, {block, team, thread, waits}).has_value();
  }
  bool writes(int32_t team, int32_t thread, int64_t waits, int64_t block = 0) {
    return !shadow.write(&element, {block, team, thread, waits}).has_value();
  }
  int element = 0, other_element = 0;
  Shadow shadow;
};

TEST_F(ShadowOf, one_thread_does_as_it_likes) {
  EXPECT_TRUE(writes(0, 3, 0));
  EXPECT_TRUE(reads(0, 3, 0));
  EXPECT_TRUE(writes(0, 3, 0));
}

TEST_F(ShadowOf, readers_do_no_harm) {
  for (int32_t t = 0; t < 4; ++t) EXPECT_TRUE(reads(t / 2, t, 0, t % 2));
}

TEST_F(ShadowOf, a_write_and_another_threads_access_race) {
  EXPECT_TRUE(writes(0, 3, 0));
  EXPECT_FALSE(reads(0, 4, 0));
  EXPECT_FALSE(writes(0, 4, 0));
  const auto other = shadow.read(&element, {0, 0, 4, 0});
  ASSERT_TRUE(other);
  EXPECT_EQ(other->thread, 3);
  EXPECT_FALSE(shadow.read(&other_element, {0, 0, 4, 0}));
}

TEST_F(ShadowOf, a_barrier_between_them_orders_a_team) {
  EXPECT_TRUE(writes(0, 3, 0));
  EXPECT_TRUE(reads(0, 4, 1));
  EXPECT_TRUE(writes(0, 5, 2));
}

TEST_F(ShadowOf, a_barrier_of_another_team_does_not) {
  EXPECT_TRUE(writes(0, 3, 0));
  EXPECT_FALSE(reads(1, 40, 1));
}

TEST_F(ShadowOf, nothing_orders_two_blocks) {
  EXPECT_TRUE(writes(0, 3, 0));
  EXPECT_FALSE(reads(0, 3, 1, 1));
  EXPECT_FALSE(writes(0, 3, 1, 1));
}

TEST_F(ShadowOf, a_write_races_with_each_reader) {
  EXPECT_TRUE(reads(0, 3, 0));
  EXPECT_TRUE(reads(0, 4, 0));
  EXPECT_FALSE(writes(0, 4, 0));  // with 3, which isn't the last one
  EXPECT_FALSE(writes(0, 5, 0));
  EXPECT_TRUE(writes(0, 4, 1));
}

// Two readers are enough: whoever writes is another one than one of them.
TEST_F(ShadowOf, a_write_races_with_a_reader_before_the_last) {
  EXPECT_TRUE(reads(0, 3, 0));
  EXPECT_TRUE(reads(0, 4, 0));
  EXPECT_TRUE(reads(0, 3, 0));
  EXPECT_FALSE(writes(0, 3, 0));  // with 4
}

}  // namespace
}  // namespace cleave::simt
