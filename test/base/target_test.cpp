// Targets by their texts.
#include <gtest/gtest.h>

#include "base/target.h"
#include "test/targets.h"

namespace cleave {
namespace {

TEST(Target, text_goes_both_ways) {
  for (const char* text :
       {"x86-64-v2", "x86-64-v3", "x86-64-v4", "x86-64-v4-bf16", "x86-64-v4-amx", "aarch64"}) {
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
  for (const Target& level : test::levels()) {
    if (level.set <= Target::here().set) continue;
    const Status s = check_runs_here(level);
    ASSERT_FALSE(s.ok());
    EXPECT_EQ(s.failure().kind, ErrorKind::unsupported);
  }
}

TEST(Target, none_runs_on_another_architecture) {
  const bool is_arm = architecture_of(Target::here().set) == "aarch64";
  for (const char* text :
       {"x86-64-v2", "x86-64-v3", "x86-64-v4", "x86-64-v4-bf16", "x86-64-v4-amx", "aarch64"}) {
    const Target target = Target::named(text);
    if (is_arm == (target.set == InstructionSet::neon)) continue;
    const Status s = check_runs_here(target);
    ASSERT_FALSE(s.ok()) << text;
    EXPECT_EQ(s.failure().kind, ErrorKind::unsupported);
    EXPECT_EQ(s.failure().message,
              fmt::format("target {}: this machine is of {}; a program for it can be planned here, "
                          "not run",
                          text, is_arm ? "aarch64" : "x86-64"));
  }
}

TEST(Target, gpus_by_their_architecture) {
  for (const char* text : {"sm_75", "sm_80", "sm_90", "sm_100", "sm_121"}) {
    const Target target = Target::named(text);
    EXPECT_EQ(target.text(), text);
    EXPECT_EQ(text, fmt::format("sm_{}", target.cuda_arch));
    EXPECT_EQ(target.rates, common_rates(target));
    EXPECT_GT(target.rates.memory_gigabytes, MachineRates().memory_gigabytes);
    if (const Status s = check_runs_here(target); !s.ok()) {
      EXPECT_FALSE(target.runs_here());
      EXPECT_EQ(s.failure().kind, ErrorKind::unsupported);
      EXPECT_TRUE(s.failure().message.starts_with(fmt::format("target {}: ", text)));
      EXPECT_TRUE(s.failure().message.ends_with("can be planned and compiled here, not run"));
    }
  }
  const Result<int> arch = detect_cuda_arch();
  const Result<Target> here = parse_target("cuda");
  ASSERT_EQ(here.ok(), arch.ok());
  if (here.ok()) {
    EXPECT_EQ(here->text(), "cuda");
    EXPECT_EQ(here->cuda_arch, *arch);
    EXPECT_TRUE(here->runs_here());
  } else {
    EXPECT_EQ(here.failure().kind, ErrorKind::unsupported);
    EXPECT_NE(here.failure().message.find("NVIDIA driver"), std::string::npos);
  }
}

TEST(Target, errors) {
  const auto failure = [](const char* text) {
    const Result<Target> r = parse_target(text);
    return r.ok() ? Failure{ErrorKind::bug, "it is taken"} : r.failure();
  };
  EXPECT_EQ(failure("avx2").kind, ErrorKind::user);
  EXPECT_EQ(failure("avx2").message,
            "target avx2: expected native, x86-64-v2, x86-64-v3, x86-64-v4, x86-64-v4-bf16, "
            "x86-64-v4-amx, aarch64, cuda, or a GPU's architecture such as sm_90");
  EXPECT_EQ(failure("").kind, ErrorKind::user);
  EXPECT_THROW(Target::named("x86-64"), Error);
}

}  // namespace
}  // namespace cleave
