// Targets as files.
#include "base/target_file.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "base/target.h"

namespace cleave {
namespace {

std::string message_of(std::string_view text) {
  const Result<Target> target = parse_target_file(text);
  return target.ok() ? "" : target.failure().message;
}

TEST(TargetFile, goes_both_ways) {
  Target target = Target::named("x86-64-v3");
  target.rates = {.product_gflops = 0.1,
                  .pointwise_gflops = 71.4,
                  .memory_gigabytes = 1e12,
                  .cache_gigabytes = 1.0 / 3,
                  .call_ns = 15.3,
                  .cache_bytes = 1280 << 10};
  const Target read = value_or_throw(parse_target_file(print_target_file(target)));
  EXPECT_EQ(read.text(), "x86-64-v3");
  EXPECT_EQ(read, target);
  EXPECT_EQ(value_or_throw(parse_target_file(print_target_file(Target::here()))), Target::here());
}

TEST(TargetFile, what_is_not_named_is_the_tables) {
  const Target target = value_or_throw(parse_target_file(
      "cleave-target 1\r\n\n  # a comment\nset   x86-64-v2 # the least\n\tcall_ns 7\n"));
  EXPECT_EQ(target.text(), "x86-64-v2");
  EXPECT_EQ(target.rates.call_ns, 7);
  EXPECT_EQ(target.rates.product_gflops, MachineRates().product_gflops);
}

TEST(TargetFile, gpus_have_a_table_of_their_own) {
  const Target h200 = Target::named("sm_90");
  for (const char* text : {"set sm_90\ncall_ns 7\n", "call_ns 7\nset sm_90\n"}) {
    const Target read = value_or_throw(parse_target_file(fmt::format("cleave-target 1\n{}", text)));
    EXPECT_EQ(read.cuda_arch, 90);
    EXPECT_EQ(read.rates.call_ns, 7);
    EXPECT_EQ(read.rates.memory_gigabytes, h200.rates.memory_gigabytes);
    EXPECT_EQ(value_or_throw(parse_target_file(print_target_file(read))), read);
    EXPECT_EQ(target_word(read), "sm_90,call_ns:7");
    EXPECT_EQ(value_or_throw(parse_target_word(target_word(read))), read);
  }
  EXPECT_EQ(target_word(h200), "sm_90");
}

TEST(TargetFile, errors_name_the_line) {
  EXPECT_NE(message_of("").find("line 1: expected `cleave-target 1`"), std::string::npos);
  EXPECT_NE(message_of("cleave-target 2\nset native\n").find("line 1"), std::string::npos);
  EXPECT_NE(message_of("cleave-target 1\n").find("no line `set`"), std::string::npos);
  const std::string begin = "cleave-target 1\nset native\n";
  EXPECT_EQ(message_of(begin + "call_ns 1\ncall_ns 2\n"), "line 4: call_ns stands twice");
  EXPECT_NE(message_of(begin + "speed 1\n").find("line 3: `speed` is no name"), std::string::npos);
  for (const char* number : {"", "0", "-1", "nan", "inf", "1e13", "1x", "1 2", "0x10"})
    EXPECT_NE(message_of(begin + "call_ns " + number).find("line 3: call_ns: `"), std::string::npos)
        << number;
  EXPECT_NE(message_of("cleave-target 1\nset x86-64-v9\n").find("line 2: target x86-64-v9"),
            std::string::npos);
}

TEST(TargetFile, errors_are_fit_for_a_terminal) {
  for (const auto& read :
       {parse_target_file("cleave-target 1\nset x\x1b[2J\n"), parse_target_word("x\x1b[2J")}) {
    ASSERT_FALSE(read.ok());
    EXPECT_NE(read.failure().message.find("target x\\x1b[2J: expected native"), std::string::npos)
        << read.failure().message;
  }
}

TEST(TargetFile, a_name_or_a_path) {
  EXPECT_EQ(value_or_throw(target_of("x86-64-v2")).text(), "x86-64-v2");
  const std::string path =
      (std::filesystem::temp_directory_path() / fmt::format("cleave_{}.target", getpid())).string();
  Target slow = Target::here();
  slow.rates.memory_gigabytes = 1;
  slow.write(path);
  EXPECT_EQ(Target::read(path), slow);
  EXPECT_EQ(value_or_throw(target_of(path)), slow);
  std::ofstream(path) << std::string(2'000'000, '#');
  EXPECT_NE(target_of(path).failure().message.find("no target file"), std::string::npos);
  std::filesystem::remove(path);
  EXPECT_EQ(target_of(path).failure().kind, ErrorKind::user);
  EXPECT_THROW(Target::read(path), Error);
}

TEST(TargetFile, answers_of_a_library) {
  const std::string head = "cleave-target 1\nset sm_90\n";
  Target target = value_or_throw(parse_target_file(head + "answer product,a 3\nanswer b 0\n"));
  EXPECT_EQ(target.answers, (std::map<std::string, int>{{"product,a", 3}, {"b", 0}}));
  EXPECT_EQ(value_or_throw(parse_target_file(print_target_file(target))), target);
  for (const char* line : {"answer", "answer a", "answer a -1", "answer a 100", "answer a 1 2",
                           "answer a x", "answer a 1\nanswer a 1"})
    EXPECT_FALSE(parse_target_file(head + line + "\n").ok()) << line;
}

TEST(TargetFile, in_one_word) {
  Target target = value_or_throw(parse_target("x86-64-v3"));
  EXPECT_EQ(target_word(target), "x86-64-v3");
  target.rates.cache_bytes = 524288;
  target.rates.product_gflops = 0.1;
  EXPECT_EQ(target_word(target), "x86-64-v3,product_gflops:0.1,cache_bytes:524288");
  EXPECT_EQ(value_or_throw(parse_target_word(target_word(target))), target);
  for (const char* word : {"", "x86", "x86-64-v3,", "x86-64-v3,call_ns", "x86-64-v3,set:native",
                           "x86-64-v3,call_ns:0", "x86-64-v3,,call_ns:1"})
    EXPECT_FALSE(parse_target_word(word).ok()) << word;
}

}  // namespace
}  // namespace cleave
