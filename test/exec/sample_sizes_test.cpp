// Which sizes a family of programs learns from.
#include "exec/sample_sizes.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace cleave {
namespace {

using Sizes = std::vector<int64_t>;

InputSizes sizes_of(const InputShape& shape, OtherSizes other = OtherSizes::refuse) {
  return value_or_throw(InputSizes::make("compile", {{"x", DType::f32, shape}}, other));
}

std::vector<Sizes> all_of(const SampleSizes& samples) {
  std::vector<Sizes> out = samples.first;
  out.insert(out.end(), samples.more.begin(), samples.more.end());
  return out;
}

TEST(SampleSizes, are_distinct_and_allowed_and_not_the_largest) {
  for (const auto& [least, most] :
       {std::pair(1, 64), {0, 3}, {5, 9}, {4, 4}, {1, 1}, {1, 100000}}) {
    std::vector<Sizes> all =
        all_of(sample_sizes(sizes_of({dyn("B", least, most), 3, dyn("T", 2, 256)})));
    for (const Sizes& sizes : all) {
      EXPECT_TRUE(sizes[0] >= least && sizes[0] <= most) << sizes[0];
      EXPECT_TRUE(sizes[1] >= 2 && sizes[1] <= 256) << sizes[1];
      EXPECT_NE(sizes, (Sizes{most, 256}));
    }
    const size_t count = all.size();
    EXPECT_GE(count, 4u);
    EXPECT_LE(count, 24u);
    std::ranges::sort(all);
    EXPECT_EQ(std::ranges::unique(all).size(), 0u);
  }
}

TEST(SampleSizes, of_one_size_are_its_ends_and_its_middle) {
  const SampleSizes samples = sample_sizes(sizes_of({dyn("B", 1, 64)}));
  EXPECT_EQ(samples.first, (std::vector<Sizes>{{63}, {33}, {32}, {2}, {1}}));
  EXPECT_GE(samples.more.size(), 4u);
}

TEST(SampleSizes, that_can_not_vary_are_none) {
  EXPECT_TRUE(all_of(sample_sizes(sizes_of({dyn("B", 4, 4)}))).empty());
  EXPECT_TRUE(all_of(sample_sizes(sizes_of({4, 7}, OtherSizes::grow))).empty());
}

TEST(SampleSizes, beside_others_differ_in_each_size_that_varies) {
  const InputSizes bounded = sizes_of({dyn("B", 1, 64), dyn("T", 2, 256), dyn("K", 3, 3)});
  EXPECT_EQ(sizes_beside(bounded, {7, 20, 3}), (std::vector<Sizes>{{8, 21, 3}, {6, 19, 3}}));
  EXPECT_EQ(sizes_beside(bounded, {1, 256, 3}), (std::vector<Sizes>{{2, 256, 3}, {1, 255, 3}}));
  // Of numbers, those that have grown.
  const InputSizes numbers = sizes_of({4, 7}, OtherSizes::grow);
  EXPECT_EQ(sizes_beside(numbers, {9, 7}), (std::vector<Sizes>{{10, 7}, {8, 7}}));
  EXPECT_EQ(sizes_beside(numbers, {4, 1}), (std::vector<Sizes>{{4, 2}}));
}

}  // namespace
}  // namespace cleave
