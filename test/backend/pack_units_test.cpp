// tests: pack_units.cpp
#include "backend/pack_units.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace cleave {
namespace {

using Sizes = std::vector<size_t>;

TEST(PackUnits, lengths_are_about_the_same) {
  EXPECT_EQ(pack_units(Sizes{5, 9, 4, 6, 2}, 2), (Sizes{1, 0, 0, 1, 1}));
  EXPECT_EQ(pack_units(Sizes{3, 3, 3}, 1), (Sizes{0, 0, 0}));
}

TEST(PackUnits, what_has_no_text_takes_no_place) {
  EXPECT_EQ(pack_units(Sizes{0, 7, 0, 7}, 2), (Sizes{0, 0, 0, 1}));
  EXPECT_EQ(pack_units({}, 0), Sizes());
}

TEST(PackUnits, empty_units_are_the_last) {
  const Sizes units = pack_units(Sizes{4, 8}, 5);
  EXPECT_EQ(*std::ranges::max_element(units), 1u);
}

}  // namespace
}  // namespace cleave
