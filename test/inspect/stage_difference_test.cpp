// Where compilations differ.
// tests: inspect/stage_difference.cpp
#include "inspect/stage_difference.h"

#include <gtest/gtest.h>

#include "test/random_inputs.h"

namespace cleave {
namespace {

StageRecord record(const std::vector<std::pair<std::string, std::string>>& stages) {
  StageRecord out;
  for (const auto& [stage, text] : stages) out.stages.push_back({stage, text});
  return out;
}

TEST(StageDifference, is_the_first_stage_and_line) {
  const StageRecord a = record({{"graph", "1\n2\n"}, {"dce", "1\n2\n3\n"}, {"emit", "x\n"}});
  EXPECT_EQ(stage_difference(a, a).stage, "");
  EXPECT_EQ(stage_difference(a, a).same_from, "");
  StageDifference d =
      stage_difference(a, record({{"graph", "1\n2\n"}, {"dce", "1\n2\n4\n"}, {"emit", "x\n"}}));
  EXPECT_EQ(d.stage, "dce");
  EXPECT_EQ(d.line, 3);
  EXPECT_EQ(d.a, "3");
  EXPECT_EQ(d.b, "4");
  EXPECT_EQ(d.same_from, "emit");
  d = stage_difference(a, record({{"graph", "1\n2\n"}, {"dce", "1\n2\n3\n4\n"}, {"emit", "y\n"}}));
  EXPECT_EQ(d.stage, "dce");
  EXPECT_EQ(d.line, 4);
  EXPECT_EQ(d.a, "");
  EXPECT_EQ(d.b, "4");
  EXPECT_EQ(d.same_from, "");
  // Stages that one of them alone has.
  d = stage_difference(a, record({{"graph", "1\n2\n"}, {"emit", "x\n"}}));
  EXPECT_EQ(d.stage, "dce");
  EXPECT_EQ(d.same_from, "emit");
  d = stage_difference(record({{"graph", "1\n2\n"}}), a);
  EXPECT_EQ(d.stage, "dce");
  EXPECT_EQ(d.b, "1");
}

TEST(StageDifference, records_each_stage_without_names_and_lines) {
  const auto of = [](const std::string& text) {
    return value_or_throw(record_stages(test::parsed(text), test::core(), {}));
  };
  const StageRecord a =
      of("graph @main(%x: input f32[4]) {\n  %y = relu(%x)  # a.cpp:1\n  %z = sum(%y; dim=[0])\n"
         "  return %z\n}\n");
  const StageRecord b =
      of("graph @main(%x: input f32[4]) {\n  %p_ = relu(%x)  # b.cpp:2\n  %q = sum(%p_; dim=[0])\n"
         "  return %q\n}\n");
  EXPECT_EQ(stage_difference(a, b).stage, "");
  EXPECT_GT(a.stages.size(), 8u);
  EXPECT_EQ(a.stages[0].stage, "graph");
  EXPECT_EQ(a.stages[0].text.find("a.cpp"), std::string::npos);
  EXPECT_GT(a.report.kernels, 0);
  const StageRecord c =
      of("graph @main(%x: input f32[4]) {\n  %y = relu(%x)\n  %a = relu(%y)\n"
         "  %z = sum(%a; dim=[0])\n  return %z\n}\n");
  const StageDifference d = stage_difference(a, c);
  EXPECT_EQ(d.stage, "graph");
  EXPECT_EQ(d.b, "  %a = relu(%y) : f32[4]");
  EXPECT_NE(d.same_from, "");
}

}  // namespace
}  // namespace cleave
