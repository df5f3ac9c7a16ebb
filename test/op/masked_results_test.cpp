// A type that is given for a result that output_mask leaves out.
#include <gtest/gtest.h>

#include "ir/text.h"
#include "test/random_inputs.h"

namespace cleave {
namespace {

const std::string text =
    "graph @g(%g: input f32[2,3,4,5], %x: input f32[2,3,6,6], %p: input f32[2,4,5,2]) {\n"
    "  %a, %b = grid_sampler_2d_backward(%g, %x, %p; interpolation_mode=0, padding_mode=0, "
    "align_corners=false, output_mask=[true,false]) : f32[2,3,6,6], f32[2,4,5,2]\n";

TEST(MaskedResults, have_a_type_that_nobody_reads) {
  const Graph g = test::parsed(text + "  return %a\n}\n");
  EXPECT_TRUE(g.type(g.find("b")).is_none);
  const auto read = parse(text + "  %y = sin(%b)\n  return %a, %y\n}\n", "t", test::core());
  ASSERT_FALSE(read.ok());
  EXPECT_NE(read.failure().message.find("b"), std::string::npos) << read.failure().message;
}

}  // namespace
}  // namespace cleave
