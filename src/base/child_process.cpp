#include "base/child_process.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstring>

#include "base/descriptor.h"

namespace cleave {
namespace {

using Clock = std::chrono::steady_clock;

constexpr size_t kept_bytes = 16 << 10;
constexpr int poll_ms = 50;

double seconds_since(Clock::time_point t) {
  return std::chrono::duration<double>(Clock::now() - t).count();
}

struct Pipe {
  Descriptor out, in;
};

Result<Pipe> make_pipe() {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) return bug("child process: pipe: {}", std::strerror(errno));
  return Pipe{Descriptor(ends[0]), Descriptor(ends[1])};
}

void limit(int resource, rlim_t most) {
  const rlimit both{most, most};
  ::setrlimit(static_cast<__rlimit_resource_t>(resource), &both);
}

// In the new process, whose memory is a copy of one in which other threads held locks: system calls
// alone. What can't be started is told through `failed`.
[[noreturn]] void become(char* const* words, const ChildLimits& limits, int messages, int failed) {
  ::setpgid(0, 0);
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  limit(RLIMIT_CORE, 0);
  if (limits.memory_bytes > 0) limit(RLIMIT_AS, static_cast<rlim_t>(limits.memory_bytes));
  sigset_t none;
  ::sigemptyset(&none);
  ::sigprocmask(SIG_SETMASK, &none, nullptr);
  const int null = ::open("/dev/null", O_RDWR);
  ::dup2(null, STDIN_FILENO);
  ::dup2(null, STDOUT_FILENO);
  ::dup2(messages, STDERR_FILENO);
  ::execvp(words[0], words);
  const int error = errno;
  [[maybe_unused]] const ssize_t written = ::write(failed, &error, sizeof error);
  ::_exit(127);
}

// What there is to read, without waiting for more. False: nothing more will come.
bool read_some(int from, std::string& to) {
  char chunk[4096];
  for (;;) {
    const ssize_t got = ::read(from, chunk, sizeof chunk);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return got < 0 && errno == EAGAIN;
    to.append(chunk, static_cast<size_t>(got));
    if (to.size() > 2 * kept_bytes) to.erase(0, to.size() - kept_bytes);
  }
}

// Without taking its number from the system, so that its group still has it.
bool has_ended(pid_t child) {
  siginfo_t info{};
  return ::waitid(P_PID, static_cast<id_t>(child), &info, WEXITED | WNOHANG | WNOWAIT) == 0 &&
         info.si_pid == child;
}

// Waits for the child's end, or makes one.
ChildEnd end_of(pid_t child, const Descriptor& messages, const ChildLimits& limits,
                const std::function<bool()>& stop) {
  const Clock::time_point start = Clock::now();
  ChildEnd end;
  ::fcntl(messages.get(), F_SETFL, O_NONBLOCK);
  for (bool may_say_more = true; !has_ended(child);) {
    pollfd readable{messages.get(), POLLIN, 0};
    const bool ends_soon = !may_say_more || seconds_since(start) < 0.05;
    ::poll(&readable, may_say_more ? 1 : 0, ends_soon ? 2 : poll_ms);
    if (may_say_more) may_say_more = read_some(messages.get(), end.messages);
    const bool is_late = limits.seconds > 0 && seconds_since(start) >= limits.seconds;
    if (!is_late && !(stop && stop())) continue;
    end.how = is_late ? ChildEnd::How::time : ChildEnd::How::stopped;
    break;
  }
  end.seconds = seconds_since(start);
  ::kill(-child, SIGKILL);  // what it has started too
  int status = 0;
  while (::waitpid(child, &status, 0) < 0 && errno == EINTR) {}
  read_some(messages.get(), end.messages);
  if (end.messages.size() > kept_bytes) end.messages.erase(0, end.messages.size() - kept_bytes);
  if (end.how != ChildEnd::How::exit) return end;
  if (WIFSIGNALED(status)) end.how = ChildEnd::How::signal;
  end.number = WIFSIGNALED(status) ? WTERMSIG(status) : WEXITSTATUS(status);
  return end;
}

}  // namespace

std::string ChildEnd::text(const ChildLimits& limits) const {
  switch (how) {
    case How::exit: return fmt::format("exit status {}", number);
    case How::signal: return fmt::format("signal {} ({})", number, ::strsignal(number));
    case How::time: return fmt::format("no end within {:g} s", limits.seconds);
    case How::stopped: return "stopped";
  }
  return "";
}

Result<ChildEnd> run_child(const std::vector<std::string>& command, const ChildLimits& limits,
                           const std::function<bool()>& stop) {
  std::vector<char*> words;
  for (const std::string& word : command) words.push_back(const_cast<char*>(word.c_str()));
  words.push_back(nullptr);
  CLEAVE_TRY(Pipe messages, make_pipe());
  CLEAVE_TRY(Pipe failed, make_pipe());
  const pid_t child = ::fork();
  if (child < 0) return bug("child process: fork: {}", std::strerror(errno));
  if (child == 0) become(words.data(), limits, messages.in.get(), failed.in.get());
  ::setpgid(child, child);  // whoever comes first
  messages.in.close();
  failed.in.close();
  int error = 0;
  ssize_t told;
  do told = ::read(failed.out.get(), &error, sizeof error);
  while (told < 0 && errno == EINTR);
  ChildEnd end = end_of(child, messages.out, limits, stop);
  if (told == sizeof error)
    return user_error("{}: can't be started: {}", command[0], std::strerror(error));
  return end;
}

}  // namespace cleave
