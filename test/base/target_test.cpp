// Targets by their texts.
#include <gtest/gtest.h>

#include "base/target.h"
#include "test/targets.h"

namespace cleave {
namespace {

TEST(Target, text_goes_both_ways) {
  for (const char* text : {"x86-64-v2", "x86-64-v3", "x86-64-v4", "x86-64-v4-bf16"}) {
    const Target target = Target::named(text);
    EXPECT_EQ(target.text(), text);
    EXPECT_FALSE(target.is_native);
  }
  EXPECT_EQ(Target::named("native"), Target::here());
  EXPECT_EQ(Target({detect_instruction_set(), true}).text(), "native");
}

TEST(Target, each_has_all_of_those_before_it) {
  EXPECT_TRUE(Target::here().runs_here());
  for (const Target& target : test::targets_here()) EXPECT_TRUE(check_runs_here(target).ok());
  for (int set = static_cast<int>(Target::here().set) + 1; set < 4; ++set) {
    const Status s = check_runs_here({static_cast<InstructionSet>(set)});
    ASSERT_FALSE(s.ok());
    EXPECT_EQ(s.failure().kind, ErrorKind::unsupported);
  }
}

TEST(Target, errors) {
  const auto failure = [](const char* text) {
    const Result<Target> r = parse_target(text);
    return r.ok() ? Failure{ErrorKind::bug, "it is taken"} : r.failure();
  };
  EXPECT_EQ(failure("avx2").kind, ErrorKind::user);
  EXPECT_EQ(failure("avx2").message,
            "target avx2: expected native, x86-64-v2, x86-64-v3, x86-64-v4, x86-64-v4-bf16");
  EXPECT_EQ(failure("").kind, ErrorKind::user);
  EXPECT_EQ(failure("aarch64").kind, ErrorKind::unsupported);
  EXPECT_THROW(Target::named("x86-64"), Error);
}

}  // namespace
}  // namespace cleave
