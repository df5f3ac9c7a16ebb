// Values by sizes: the one that wasn't asked for the longest time is dropped.
#include "exec/recently_used.h"

#include <gtest/gtest.h>

namespace cleave {
namespace {

using Kept = std::vector<int>;

Kept kept(const RecentlyUsed<int>& values) {
  Kept out;
  values.each([&](int v) { out.push_back(v); });
  return out;
}

TEST(RecentlyUsed, drops_the_one_not_asked_for_the_longest_time) {
  RecentlyUsed<int> values(3);
  for (const int v : {1, 2, 3}) values.add({v, 0}, v);
  EXPECT_EQ(kept(values), (Kept{3, 2, 1}));
  ASSERT_NE(values.find({1, 0}), nullptr);
  EXPECT_EQ(*values.find({1, 0}), 1);
  EXPECT_EQ(values.find({1, 1}), nullptr);
  values.add({4, 0}, 4);
  EXPECT_EQ(kept(values), (Kept{4, 1, 3}));
  EXPECT_EQ(values.find({2, 0}), nullptr);
}

}  // namespace
}  // namespace cleave
