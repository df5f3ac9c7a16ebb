// Warnings of what a target emulates.
#include "compile/target_warnings.h"

#include <gtest/gtest.h>

#include "exec/executable.h"
#include "test/random_inputs.h"

namespace cleave {
namespace {

std::vector<Warning> warnings_of(const std::string& calls, InstructionSet set) {
  StageOptions options;
  options.target = {set};
  options.compiler = CompilerChoice::none;
  const Graph g = test::parsed(
      "graph @main(%x: input f32[8,8], %h: input bf16[8,8], %i: input bf16[1,2,8,8], "
      "%w: input bf16[3,2,3,3]) {\n" +
      calls + "}\n");
  return value_or_throw(CompiledProgram::compile(g, test::core(), options))->report().warnings;
}

TEST(TargetWarnings, products_of_bf16_without_the_instruction) {
  const std::string product = "  %y = mm(%h, %h)\n  %z = mm(%y, %h)\n  return %z\n";
  const std::string image =
      "  %y = convolution(%i, %w; stride=[1,1], padding=[1,1], dilation=[1,1], transposed=false, "
      "output_padding=[0,0], groups=1)\n  return %y\n";
  for (const InstructionSet set :
       {InstructionSet::neon, InstructionSet::plain, InstructionSet::avx2, InstructionSet::avx512})
    for (const std::string& calls : {product, image}) {
      const std::vector<Warning> got = warnings_of(calls, set);
      ASSERT_EQ(got.size(), 1U);
      EXPECT_EQ(got[0].code, "bf16_emulated");
      EXPECT_NE(got[0].text.find(Target{set}.text()), std::string::npos) << got[0].text;
    }
  EXPECT_TRUE(warnings_of(product, InstructionSet::avx512bf16).empty());
  EXPECT_TRUE(warnings_of("  %y = mm(%x, %x)\n  return %y\n", InstructionSet::avx2).empty());
  EXPECT_TRUE(warnings_of("  %y = exp(%h)\n  return %y\n", InstructionSet::avx2).empty());
}

}  // namespace
}  // namespace cleave
