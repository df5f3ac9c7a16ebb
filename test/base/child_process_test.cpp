// A process with limits ends in one of four ways, and takes with it what it has started.
#include "base/child_process.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <thread>

#include "test/emulated.h"

namespace cleave {
namespace {

using How = ChildEnd::How;

ChildEnd shell(const std::string& text, const ChildLimits& limits = {},
               const std::function<bool()>& stop = {}) {
  return value_or_throw(run_child({"/bin/sh", "-c", text}, limits, stop));
}

TEST(ChildProcess, ends_by_itself) {
  const ChildEnd end = shell("echo shown; echo told >&2; exit 7");
  EXPECT_EQ(end.how, How::exit);
  EXPECT_EQ(end.number, 7);
  EXPECT_EQ(end.messages, "told\n");
  EXPECT_EQ(end.text(), "exit status 7");
  EXPECT_EQ(shell("read line; exit $?").number, 1);  // nothing is on its standard input
}

TEST(ChildProcess, ends_by_a_signal) {
  const ChildEnd end = shell("kill -9 $$");
  EXPECT_EQ(end.how, How::signal);
  EXPECT_EQ(end.number, SIGKILL);
  EXPECT_EQ(end.text(), "signal 9 (Killed)");
}

TEST(ChildProcess, is_killed_at_its_time_limit) {
  const ChildLimits limits{.seconds = 0.2};
  const ChildEnd end = shell("echo before >&2; while :; do :; done", limits);
  EXPECT_EQ(end.how, How::time);
  EXPECT_EQ(end.text(limits), "no end within 0.2 s");
  EXPECT_EQ(end.messages, "before\n");
  EXPECT_GE(end.seconds, 0.2);
}

TEST(ChildProcess, is_killed_when_it_is_to_stop) {
  int asked = 0;
  EXPECT_EQ(shell("sleep 1000", {}, [&] { return ++asked > 2; }).how, How::stopped);
}

// Its own limit, not that of this process.
TEST(ChildProcess, gets_no_more_memory_than_its_limit) {
  if (test::is_emulated()) GTEST_SKIP() << "no limit of address space in an emulator";
  const std::string grow = "x=0123456789abcdef; while :; do x=$x$x$x$x; done";
  const ChildEnd end = shell(grow, {.seconds = 60, .memory_bytes = 64 << 20});
  EXPECT_NE(end.how, How::time);
  EXPECT_NE(end.text(), "exit status 0");
  EXPECT_EQ(shell("test $(ulimit -v) = 65536", {.memory_bytes = 64 << 20}).number, 0);
  EXPECT_EQ(shell("test $(ulimit -v) = 65536").number, 1);
}

bool is_running(pid_t pid) { return ::kill(pid, 0) == 0; }

// Those that it has started are killed with it, whether it ends or is killed.
TEST(ChildProcess, takes_what_it_started_along) {
  const auto file =
      std::filesystem::temp_directory_path() / ("cleave_child." + std::to_string(::getpid()));
  for (const char* end : {"exit 0", "wait"}) {
    shell("sleep 1000 & echo $! > " + file.string() + "; " + end, {.seconds = 0.3});
    pid_t started = 0;
    std::ifstream(file) >> started;
    ASSERT_GT(started, 0);
    for (int turn = 0; turn < 2000 && is_running(started); ++turn) {
      std::this_thread::sleep_for(std::chrono::milliseconds(2));
      std::ifstream state("/proc/" + std::to_string(started) + "/stat");
      std::string pid, name, letter;
      state >> pid >> name >> letter;
      if (letter == "Z") break;  // killed, and nobody asked for its status yet
    }
    std::ifstream state("/proc/" + std::to_string(started) + "/stat");
    std::string pid, name, letter = "gone";
    state >> pid >> name >> letter;
    EXPECT_TRUE(letter == "gone" || letter == "Z") << letter;
  }
  std::filesystem::remove(file);
}

TEST(ChildProcess, keeps_the_end_of_what_it_says) {
  const ChildEnd end = shell("i=0; while test $i -lt 9000; do echo line $i >&2; i=$((i+1)); done");
  EXPECT_EQ(end.messages.size(), size_t{16} << 10);
  EXPECT_TRUE(end.messages.ends_with("line 8999\n"));
}

TEST(ChildProcess, is_an_error_where_there_is_no_such_program) {
  const Result<ChildEnd> end = run_child({"/no/such/program", "x"});
  ASSERT_FALSE(end.ok());
  EXPECT_EQ(end.failure().kind, ErrorKind::user);
  EXPECT_EQ(end.failure().message, "/no/such/program: can't be started: No such file or directory");
  EXPECT_FALSE(run_child({"/tmp"}).ok());
}

}  // namespace
}  // namespace cleave
