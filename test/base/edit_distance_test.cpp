// Edit distances of words, and which known word is suggested.
#include "base/edit_distance.h"

#include <gtest/gtest.h>

namespace cleave {
namespace {

TEST(EditDistance, by_hand) {
  EXPECT_EQ(edit_distance("", ""), 0u);
  EXPECT_EQ(edit_distance("", "abc"), 3u);
  EXPECT_EQ(edit_distance("kitten", "sitting"), 3u);
  EXPECT_EQ(edit_distance("sitting", "kitten"), 3u);
  EXPECT_EQ(edit_distance("ab", "ba"), 2u);
  EXPECT_EQ(edit_distance("softmax", "softmax"), 0u);
}

TEST(NearestName, the_nearest_of_those_offered) {
  NearestName nearest("sofmax");
  for (const char* known : {"argmax", "softmax", "log_softmax"}) nearest.offer(known);
  EXPECT_EQ(nearest.best(), "softmax");
}

TEST(NearestName, none_is_near) {
  NearestName nearest("exp");
  nearest.offer("convolution");
  EXPECT_EQ(nearest.best(), "");
  const std::string longest(65, 'a');
  NearestName beyond(longest);
  beyond.offer(longest);
  EXPECT_EQ(beyond.best(), "");
}

}  // namespace
}  // namespace cleave
