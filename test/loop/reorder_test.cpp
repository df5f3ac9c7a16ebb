// Orders of elements: of views, and one after the other.
#include "loop/reorder.h"

#include <gtest/gtest.h>

namespace cleave {
namespace {

std::optional<Reorder> of(std::vector<int64_t> shape, std::vector<int64_t> strides) {
  const int64_t n = numel_of(shape);
  return Reorder::of({std::move(shape), std::move(strides), 0}, n);
}

// Where the element with this number is.
int64_t at(const Reorder& order, int64_t number) {
  int64_t out = 0;
  for (const Reorder::Digit& d : order.digits()) out += number / d.from % d.extent * d.to;
  return out;
}

TEST(Reorder, of_a_permute) {
  const Reorder order = of({6, 4}, {1, 6}).value();
  EXPECT_EQ(order.digits(), (std::vector<Reorder::Digit>{{6, 4, 1}, {4, 1, 6}}));
  EXPECT_FALSE(order.is_same());
  EXPECT_EQ(order.then(order.inverse()), Reorder(24));
}

TEST(Reorder, dims_that_stay_together_are_one) {
  EXPECT_TRUE(of({2, 3, 4}, {12, 4, 1}).value().is_same());
  EXPECT_EQ(of({5, 2, 3}, {1, 15, 5}), of({5, 6}, {1, 5}));
}

TEST(Reorder, none_of_a_part_or_a_repeated_value) {
  EXPECT_FALSE(Reorder::of({{2, 3}, {4, 1}, 0}, 8).has_value());
  EXPECT_FALSE(of({2, 3}, {4, 1}).has_value());
  EXPECT_FALSE(of({2, 3}, {0, 1}).has_value());
}

TEST(Reorder, one_after_another_takes_dims_apart) {
  const Reorder a = of({6, 4}, {1, 6}).value(), b = of({2, 2, 6}, {1, 12, 2}).value();
  const std::optional<Reorder> both = a.then(b);
  ASSERT_TRUE(both.has_value());
  for (int64_t n = 0; n < 24; ++n) EXPECT_EQ(at(*both, n), at(b, at(a, n))) << n;
}

TEST(Reorder, none_of_dims_that_overlap) {
  const Reorder a = of({3, 4}, {1, 3}).value();
  EXPECT_FALSE(a.then(a).has_value());
}

}  // namespace
}  // namespace cleave
