// A size becomes another one wherever it is a size of an input.
#include "inspect/smaller_sizes.h"

#include <gtest/gtest.h>

#include "test/random_inputs.h"

namespace cleave {
namespace {

using test::parsed;

constexpr const char* viewed =
    "graph @main(%x: input f32[64,3]) {\n  %v = view(%x; size=[192])\n"
    "  %p = expand(%v; size=[5,192])\n  return %p\n}\n";

std::string text_with(const std::string& text, int64_t from, int64_t to, AlongWith with) {
  const auto small = with_size({parsed(text), {}, {}}, from, to, with);
  return small ? print(small->g) : "none";
}

TEST(SmallerSizes, of_inputs_largest_first) {
  EXPECT_EQ(
      sizes_of_inputs(parsed(
          "graph @main(%s0: symint range(2,9), %x: input f32[64,3,1,s0], %r: rng_state i64[2], "
          "%y: input f32[3,7]) {\n  %z = exp(%x)\n  return %z\n}\n")),
      (std::vector<int64_t>{64, 7, 3}));
}

TEST(SmallerSizes, change_along_with_attributes) {
  EXPECT_EQ(text_with(viewed, 64, 2, AlongWith::nothing), "none");
  EXPECT_EQ(text_with(viewed, 64, 2, AlongWith::equal), "none");
  EXPECT_EQ(text_with(viewed, 64, 2, AlongWith::multiples),
            "graph @main(%x: input f32[2,3]) {\n  %v = view(%x; size=[6]) : f32[6]\n"
            "  %p = expand(%v; size=[5,6]) : f32[5,6]\n  return %p\n}\n");
  EXPECT_EQ(text_with("graph @main(%x: input f32[64,8]) {\n  %v = view(%x; size=[2,32,8])\n"
                      "  %w = expand(%x; size=[4,64,8])\n  return %w\n}\n",
                      8, 1, AlongWith::equal),
            "graph @main(%x: input f32[64,1]) {\n  %v = view(%x; size=[2,32,1]) : f32[2,32,1]\n"
            "  %w = expand(%x; size=[4,64,1]) : f32[4,64,1]\n  return %w\n}\n");
}

TEST(SmallerSizes, of_subgraphs_too_and_never_of_a_random_state) {
  const std::string small = text_with(
      "graph @body(%a: input f32[2]) {\n  %s = sin(%a)\n  return %s\n}\n"
      "graph @main(%x: input f32[2], %r: rng_state i64[2]) {\n  %y = call([%x]; graph=@body)\n"
      "  %d = rng_next(%r)\n  return %y, %d -> %r\n}\n",
      2, 1, AlongWith::equal);
  EXPECT_NE(small.find("%a: input f32[1]"), std::string::npos) << small;
  EXPECT_NE(small.find("%r: rng_state i64[2]"), std::string::npos) << small;
}

TEST(SmallerSizes, strides_stay_dense_and_in_order) {
  EXPECT_EQ(text_with("graph @main(%x: input f32[8,4]{1,8}, %y: input f32[8,4]{0,1}) {\n"
                      "  %z = add(%x, %y)\n  return %z\n}\n",
                      8, 2, AlongWith::equal),
            "graph @main(%x: input f32[2,4]{1,2}, %y: input f32[2,4]{0,1}) {\n"
            "  %z = add(%x, %y) : f32[2,4]\n  return %z\n}\n");
}

TEST(SmallerSizes, values_are_the_leading_ones_and_indices_stay_inside) {
  GivenGraph g{parsed("graph @main(%w: param f32[4,2], %i: input i64[3]) {\n"
                      "  %e = embedding(%w, %i)\n  return %e\n}\n"),
               {test::floats(DType::f32, {4, 2}, {0, 1, 2, 3, 4, 5, 6, 7}),
                test::ints(DType::i64, {3}, {3, 0, 2})},
               {}};
  const auto small = with_size(g, 4, 2, AlongWith::equal);
  ASSERT_TRUE(small);
  EXPECT_EQ(small->inputs[0].f, (std::vector<double>{0, 1, 2, 3}));
  EXPECT_EQ(small->inputs[1].i, (std::vector<int64_t>{1, 0, 0}));
  const auto narrow = with_size(g, 2, 1, AlongWith::equal);
  ASSERT_TRUE(narrow);
  EXPECT_EQ(narrow->inputs[0].f, (std::vector<double>{0, 2, 4, 6}));
  EXPECT_EQ(narrow->inputs[1].i, (std::vector<int64_t>{3, 0, 2}));
}

TEST(SmallerSizes, of_one_dim_alone) {
  const GivenGraph g{parsed("graph @main(%x: input f32[4,4], %y: input f32[4,1]) {\n"
                            "  %z = add(%x, %y)\n  return %z\n}\n"),
                     {},
                     {}};
  EXPECT_EQ(print(with_dim(g, 0, 1, 2)->g),
            "graph @main(%x: input f32[4,2], %y: input f32[4,1]) {\n  %z = add(%x, %y) : f32[4,2]\n"
            "  return %z\n}\n");
  EXPECT_FALSE(with_dim(g, 0, 0, 2));
}

}  // namespace
}  // namespace cleave
