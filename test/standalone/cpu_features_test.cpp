#include "standalone/cpu_features.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "base/target.h"
#include "test/targets.h"

namespace cleave::standalone {
namespace {

TEST(CpuFeatures, each_level_has_those_of_the_one_below) {
  std::vector<std::string> below;
  for (const char* level :
       {"x86-64-v2", "x86-64-v3", "x86-64-v4", "x86-64-v4-bf16", "x86-64-v4-amx"}) {
    const std::vector<std::string> features = features_of(value_or_throw(parse_target(level)));
    EXPECT_GT(features.size(), below.size()) << level;
    for (const std::string& f : below)
      EXPECT_NE(std::ranges::find(features, f), features.end()) << level << " " << f;
    below = features;
  }
}

TEST(CpuFeatures, this_processor_lacks_what_its_level_lacks_and_none_of_its_own) {
  EXPECT_TRUE(missing_here(features_here()).empty());
  std::vector<std::string> asked = features_here();
  asked.emplace_back("no such feature");
  EXPECT_EQ(missing_here(asked), std::vector<std::string>{"no such feature"});
  for (const Target& target : test::levels()) {
    if (target.set == InstructionSet::plain) continue;
    EXPECT_EQ(missing_here(features_of(target)).empty(), target.set <= detect_instruction_set())
        << target.text();
  }
}

}  // namespace
}  // namespace cleave::standalone
