// Where advanced indexing puts its dims: facts of NumPy 1.26 (which ATen follows), written out.
#include <gtest/gtest.h>

#include "test/sample/both_engines.h"

namespace cleave::test {
namespace {

using Shape64 = std::vector<int64_t>;
using Doubles = std::vector<double>;

const std::string head =
    "graph @main(%x: input f32[2,3,4], %i: input i64[2], %j: input i64[2], %c: input i64[2,1]) {\n";

// x = arange(24).reshape(2, 3, 4), i = [1, 0], j = [1, 2], c = [[0], [2]]
Inputs inputs() {
  return {{"x", counting(DType::f32, {2, 3, 4})},
          {"i", ints(DType::i64, {2}, {1, 0})},
          {"j", ints(DType::i64, {2}, {1, 2})},
          {"c", ints(DType::i64, {2, 1}, {0, 2})}};
}

void expect_index(const std::string& indices, const Shape64& shape, const Doubles& values) {
  const Arrays y =
      by_both(head + "  %y = index(%x, " + indices + ")\n  return %y\n}\n", inputs(), 0);
  EXPECT_EQ(y[0].shape, shape) << indices;
  EXPECT_EQ(y[0].f, values) << indices;
}

TEST(IndexPosition, one_index_stays_in_its_place) {
  expect_index("[none, %j]", {2, 2, 4},  // x[:, j]
               {4, 5, 6, 7, 8, 9, 10, 11, 16, 17, 18, 19, 20, 21, 22, 23});
  expect_index("[none, none, %j]", {2, 3, 2},  // x[:, :, j]
               {1, 2, 5, 6, 9, 10, 13, 14, 17, 18, 21, 22});
}

TEST(IndexPosition, neighbours_stay_in_their_place) {
  expect_index("[none, %j, %i]", {2, 2}, {5, 8, 17, 20});            // x[:, j, i]
  expect_index("[%i, %j]", {2, 4}, {16, 17, 18, 19, 8, 9, 10, 11});  // x[i, j]
}

TEST(IndexPosition, a_gap_moves_them_to_the_front) {
  expect_index("[%i, none, %j]", {2, 3}, {13, 17, 21, 2, 6, 10});  // x[i, :, j]
}

TEST(IndexPosition, indices_broadcast) {
  expect_index("[%i, %c, %j]", {2, 2}, {13, 2, 21, 10});                     // x[i, c, j]
  expect_index("[none, %c, %j]", {2, 2, 2}, {1, 2, 9, 10, 13, 14, 21, 22});  // x[:, c, j]
}

TEST(IndexPosition, negative_indices_count_from_the_end) {
  Inputs in = inputs();
  in.at("j").i = {-1, -3};
  const Arrays y = by_both(head + "  %y = index(%x, [%i, %j])\n  return %y\n}\n", in, 0);
  EXPECT_EQ(y[0].f, (Doubles{20, 21, 22, 23, 0, 1, 2, 3}));
}

TEST(IndexPosition, values_of_a_put_follow_the_same_rule) {
  // x[i, :, j] = [[100, 101, 102], [103, 104, 105]]
  const std::string text =
      "graph @main(%x: input f32[2,3,4], %i: input i64[2], %j: input i64[2], %v: input f32[2,3]) "
      "{\n"
      "  %y = index_put(%x, [%i, none, %j], %v)\n  return %y\n}\n";
  Inputs in = inputs();
  in.erase("c");
  in["v"] = floats(DType::f32, {2, 3}, {100, 101, 102, 103, 104, 105});
  const Arrays y = by_both(text, in, 0);
  Doubles want = counting(DType::f32, {24}).f;
  want[13] = 100, want[17] = 101, want[21] = 102, want[2] = 103, want[6] = 104, want[10] = 105;
  EXPECT_EQ(y[0].f, want);
}

}  // namespace
}  // namespace cleave::test
