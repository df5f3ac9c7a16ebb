// Addresses of elements from a type's strides: the highest one, and whether two elements overlap.
// tests: result_strides.cpp
#include "ir/strides.h"

#include <gtest/gtest.h>

#include <random>
#include <set>

#include "ir/array.h"
#include "ir/result_strides.h"
#include "test/ir/toy_text.h"

namespace cleave {
namespace {

using Numbers = std::vector<int64_t>;

Type strided(const Numbers& shape, const Numbers& strides, DType dtype = DType::f32) {
  Type t(dtype, Shape(shape.begin(), shape.end()));
  t.strides = std::vector<Dim>(strides.begin(), strides.end());
  return t;
}

// Whether two elements have the same address, and the highest address, by visiting all elements.
std::pair<bool, int64_t> walked(const Numbers& shape, const Numbers& strides) {
  std::set<int64_t> places;
  Numbers index(shape.size());
  if (numel_of(shape) == 0) return {false, 0};
  bool twice = false;
  do {
    int64_t place = 0;
    for (size_t d = 0; d < shape.size(); ++d) place += index[d] * strides[d];
    twice |= !places.insert(place).second;
  } while (next_index(index, shape));
  return {twice, *places.rbegin() + 1};
}

TEST(Strides, of_dims_that_say_nothing_are_row_major) {
  EXPECT_EQ(strides_of(Type(DType::f32, {2, 3, 4})), (Numbers{12, 4, 1}));
  EXPECT_EQ(strides_of(strided({2, 1, 4}, {5, 99, 1})), (Numbers{5, 4, 1}));
  EXPECT_EQ(strides_of(strided({1, 4}, {77, 2})), (Numbers{8, 2}));
  EXPECT_EQ(strides_of(strided({0, 4}, {77, 2})), (Numbers{4, 1}));
  EXPECT_TRUE(is_row_major(strided({1, 4, 1}, {0, 1, 99})));
  EXPECT_TRUE(is_row_major(strided({0, 4}, {1, 0})));
  EXPECT_FALSE(is_row_major(strided({2, 4}, {5, 1})));
}

TEST(Strides, extent_counts_gaps_and_does_not_overflow) {
  EXPECT_EQ(memory_bytes(strided({2, 3}, {1000000, 1})), 4 * 1000003);
  EXPECT_EQ(memory_elements(strided({2, 3}, {0, 1})), 3);
  EXPECT_EQ(memory_elements(strided({2, 0}, {1000, 1})), 0);
  EXPECT_EQ(memory_elements(Type(DType::f32, {})), 1);
  constexpr int64_t limit = int64_t{1} << 62;
  EXPECT_EQ(extent_of(Numbers{3, 3}, Numbers{limit, limit}), limit);
  EXPECT_EQ(extent_of(Numbers(64, int64_t{1} << 47), Numbers(64, int64_t{1} << 60)), limit);
  EXPECT_EQ(memory_bytes(strided({3}, {limit}, DType::f64)), limit);
}

TEST(Strides, limits_hold_for_the_memory_that_is_reached_over) {
  EXPECT_TRUE(check_type_limits(strided({2, 3}, {1000000, 1})).ok());
  EXPECT_TRUE(check_type_limits(strided({1, 3}, {int64_t{1} << 60, 1})).ok());
  const Status s = check_type_limits(strided({2, 3}, {int64_t{1} << 58, 1}));
  ASSERT_FALSE(s.ok());
  EXPECT_EQ(s.failure().message, "f32[2,3]{288230376151711744,1} lies over more than 2^60 bytes");
}

TEST(Strides, overlap_as_found_by_walking) {
  std::mt19937_64 rng(1);
  int overlaps = 0, interleaves = 0;
  for (int k = 0; k < 20000; ++k) {
    Numbers shape(rng() % 5), strides(shape.size());
    for (int64_t& n : shape) n = static_cast<int64_t>(rng() % 5);
    for (int64_t& n : strides) n = static_cast<int64_t>(rng() % (k % 2 ? 8 : 40));
    const auto [twice, extent] = walked(shape, strides);
    ASSERT_EQ(overlaps_itself(shape, strides), twice)
        << strided(shape, strides).text() << " in round " << k;
    ASSERT_EQ(extent_of(shape, strides), extent) << strided(shape, strides).text();
    overlaps += twice;
    interleaves += !twice && numel_of(shape) > 8;
  }
  EXPECT_GT(overlaps, 1000);
  EXPECT_GT(interleaves, 500);
}

TEST(Strides, overlap_of_many_dims_ends) {
  EXPECT_FALSE(overlaps_itself(Numbers(20, 2), [] {
    Numbers s;
    for (int k = 20; k-- > 0;) s.push_back(int64_t{1} << k);
    return s;
  }()));
  Numbers odd;
  for (int64_t k = 0; k < 60; ++k) odd.push_back(1000003 + 7919 * k * k);
  EXPECT_TRUE(overlaps_itself(Numbers(60, 2), odd));  // or too long a search
}

TEST(Strides, entries_of_return_lie_as_what_they_write) {
  const Program p = read(
      "graph @main(%b: buffer f32[2,3]{1,2}) {\n  %y = exp(%b) : f32[2,3]{4,1}\n"
      "  return %y, %y -> %b, %b\n}\n");
  EXPECT_EQ(returned_type(p.main, 0).text(), "f32[2,3]{4,1}");
  EXPECT_EQ(returned_type(p.main, 1).text(), "f32[2,3]{1,2}");
  EXPECT_EQ(returned_type(p.main, 2).text(), "f32[2,3]{1,2}");
}

// ---- strides that rewrites keep

TEST(ResultStrides, come_back_on_the_value) {
  Graph g = read(
                "graph @main(%x: input f32[2,3]) {\n  %a = exp(%x) : f32[2,3]{1,2}\n"
                "  %b = exp(%a)\n  return %a\n}\n")
                .main;
  const ResultStrides strides(g);
  std::vector<Return> returns = {{g.find("b")}};
  g.set_returns(returns);
  ASSERT_TRUE(strides.restore(g, toys()).ok());
  EXPECT_EQ(g.type(g.find("b")).text(), "f32[2,3]{1,2}");
  EXPECT_EQ(g.returns(), returns);
}

TEST(ResultStrides, are_left_alone_where_they_say_the_same) {
  Graph g = read(
                "graph @main(%x: input f32[2,1]) {\n  %a = exp(%x) : f32[2,1]{1,9}\n"
                "  %b = exp(%a)\n  return %a\n}\n")
                .main;
  const ResultStrides strides(g);
  g.set_returns({{g.find("b")}});
  const int64_t edits = g.edits();
  ASSERT_TRUE(strides.restore(g, toys()).ok());
  EXPECT_EQ(g.edits(), edits);
}

}  // namespace
}  // namespace cleave
