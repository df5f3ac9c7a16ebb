// What compiling says, to the log or to stderr.
#include "exec/notices.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <regex>

#include "cleave/cleave.h"
#include "test/trace/traced.h"

namespace cleave {
namespace {

struct Log {
  std::vector<std::pair<LogLevel, std::string>> lines;
  CompileLog function() {
    return [this](LogLevel level, const std::string& text) { lines.emplace_back(level, text); };
  }
  std::vector<std::string> of(LogLevel level) const {
    std::vector<std::string> out;
    for (const auto& [l, text] : lines)
      if (l == level) out.push_back(text);
    return out;
  }
};

const std::string ms = R"([0-9]+\.[0-9] ms)";
const std::string ready = "ready after " + ms + " \\(trace " + ms + "\\)";

void expect_match(const std::string& text, const std::string& pattern) {
  EXPECT_TRUE(std::regex_match(text, std::regex(pattern))) << text;
}

TEST(Log, gets_begin_and_end_of_each_compilation) {
  Log log;
  CompiledFunction f = compile([](const Tensor& x) { return x * 2.0; },
                               {{"x", DType::f32, {dyn("N", 1, 9)}}}, {.log = log.function()});
  f.run({HostTensor(DType::f32, {3})});
  f.run({HostTensor(DType::f32, {3})});
  ASSERT_EQ(log.lines.size(), 4U);
  for (const auto& [level, text] : log.lines) EXPECT_EQ(level, LogLevel::info);
  EXPECT_EQ(log.lines[0].second, "compile: begins, for N=9");
  expect_match(log.lines[1].second, "compile: " + ready + ", for N=9, cache: bypass \\(off\\)");
  EXPECT_EQ(log.lines[2].second, "compile: begins, for N=3");
  expect_match(log.lines[3].second, "compile: " + ready + ", for N=3, cache: bypass \\(off\\)");
}

TEST(Log, says_what_the_cache_did) {
  const auto folder =
      std::filesystem::temp_directory_path() / fmt::format("cleave_log_cache.{}", getpid());
  std::filesystem::remove_all(folder);
  Log log;
  int64_t cached = 0;
  for (int k = 0; k < 2; ++k) {
    const Report report = compile([](const Tensor& x) { return exp(x); }, {{"x", DType::f32, {4}}},
                                  {.cache_dir = folder, .log = log.function()})
                              .report();
    if (k == 1) cached = report.count("cache");
  }
  expect_match(log.lines.at(1).second, "compile: " + ready + ", cache: miss");
  expect_match(log.lines.at(3).second, "compile: " + ready + ", cache: hit");
  EXPECT_EQ(cached, 1);
  std::filesystem::remove_all(folder);
}

// Of a step that accumulates there are two programs, which both read it.
TEST(Log, gets_a_warning_once_and_stderr_none) {
  Generator rng(1);
  nn::Linear model(2, 1, rng);
  Variable scale = model.add_buffer("scale", HostTensor::scalar(0.5));
  Log log;
  testing::internal::CaptureStderr();
  const TrainStep step = train_step(
      model, [&](const Tensor& x) { return mean(model(x) * scale.value().item()); }, optim::SGD({}),
      {{"x", DType::f32, {4, 2}}}, {.compile = {.log = log.function()}, .accumulate = 2});
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "");
  const std::vector<std::string> warnings = log.of(LogLevel::warning);
  ASSERT_EQ(warnings.size(), 1U);
  EXPECT_EQ(warnings[0], step.report().warnings.at(0).text);
  EXPECT_EQ(log.of(LogLevel::info).size(), 4U);
  EXPECT_EQ(log.lines[0].second, "train_step: begins");
}

TEST(Log, another_program_warns_again) {
  Log log;
  const Variable v("v", HostTensor::scalar(2.0), VariableKind::buffer);
  for (int k = 0; k < 2; ++k)
    compile([&](const Tensor& x) { return x * v.value().item(); }, {{"x", DType::f32, {4}}},
            {.log = log.function()});
  EXPECT_EQ(log.of(LogLevel::warning).size(), 2U);
}

TEST(Log, a_failed_compilation_has_no_end) {
  Log log;
  const std::string text = test::message([&] {
    compile([](const Tensor& x) { return reshape(x, {3}); }, {{"x", DType::f32, {4}}},
            {.log = log.function()});
  });
  EXPECT_NE(text.find("[3] can't hold"), std::string::npos) << text;
  ASSERT_EQ(log.lines.size(), 1U);
  EXPECT_EQ(log.lines[0].second, "compile: begins");
}

TEST(Log, that_throws_ends_the_compilation) {
  struct Full {};
  const CompileLog log = [](LogLevel, const std::string&) { throw Full(); };
  EXPECT_THROW(
      compile([](const Tensor& x) { return exp(x); }, {{"x", DType::f32, {4}}}, {.log = log}),
      Full);
}

TEST(Notices, without_a_log_go_to_stderr_once_a_process) {
  const Warning w{"code", "a text that nothing else says"};
  testing::internal::CaptureStderr();
  for (int k = 0; k < 2; ++k) {
    Notices notices;
    notices.begins("compile", "");
    notices.warn({&w, 1});
    notices.is_ready("compile", "", {});
  }
  EXPECT_EQ(testing::internal::GetCapturedStderr(),
            "cleave: warning: a text that nothing else says\n");
}

}  // namespace
}  // namespace cleave
