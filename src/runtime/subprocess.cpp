// The output is read through a pipe, so that nothing is left on disk.
#include "runtime/subprocess.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

namespace cleave::runtime {
namespace {

struct Pipe {
  int ends[2] = {-1, -1};
  ~Pipe() {
    close_end(0);
    close_end(1);
  }
  void close_end(int end) {
    if (ends[end] >= 0) close(ends[end]);
    ends[end] = -1;
  }
};

std::string read_all(int descriptor) {
  std::string text;
  char chunk[4096];
  for (;;) {
    const ssize_t got = read(descriptor, chunk, sizeof chunk);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return text;
    text.append(chunk, static_cast<size_t>(got));
  }
}

int wait_for(pid_t child) {
  int status = 0;
  while (waitpid(child, &status, 0) < 0)
    if (errno != EINTR) return 127;
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

// Whether all copies of the other end are closed, as they are when the program starts, within the
// time.
bool is_closed_within(int descriptor, int milliseconds) {
  pollfd waits{descriptor, POLLIN, 0};
  for (;;) {
    const int ready = poll(&waits, 1, milliseconds);
    if (ready >= 0 || errno != EINTR) return ready != 0;
  }
}

struct Started {
  pid_t child = 0;
  int error = 0;  // errno; 0: it runs
};

// Its output goes to `output`. Where posix_spawnp is a fork, as in qemu's user emulation, a child
// of a process with several threads now and then hangs before it starts the program: another one is
// made in its place.
Started start(const std::vector<char*>& words, int output) {
  constexpr int tries = 5, milliseconds = 10'000;
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_adddup2(&actions, output, STDOUT_FILENO);
  posix_spawn_file_actions_adddup2(&actions, output, STDERR_FILENO);
  Started out{0, ETIMEDOUT};
  for (int k = 0; k < tries; ++k) {
    Pipe starting;
    if (pipe2(starting.ends, O_CLOEXEC) != 0) {
      out.error = errno;
      break;
    }
    out.error = posix_spawnp(&out.child, words[0], &actions, nullptr, words.data(), environ);
    starting.close_end(1);
    if (out.error != 0 || is_closed_within(starting.ends[0], milliseconds)) break;
    out.error = ETIMEDOUT;
    kill(out.child, SIGKILL);
    wait_for(out.child);
  }
  posix_spawn_file_actions_destroy(&actions);
  return out;
}

}  // namespace

Result<Finished> run_program(const std::vector<std::string>& arguments) {
  std::vector<char*> words;
  for (const std::string& word : arguments) words.push_back(const_cast<char*>(word.c_str()));
  words.push_back(nullptr);
  Pipe pipe;
  if (pipe2(pipe.ends, O_CLOEXEC) != 0)
    return bug("run {}: no pipe: {}", arguments[0], strerror(errno));
  const auto [child, error] = start(words, pipe.ends[1]);
  pipe.close_end(1);
  if (error == ENOENT || error == EACCES)
    return unsupported("run {}: no such program in PATH", arguments[0]);
  if (error != 0) return bug("run {}: {}", arguments[0], strerror(error));

  Finished finished;
  finished.messages = read_all(pipe.ends[0]);
  finished.exit_status = wait_for(child);
  // So ends a child that finds no program where posix_spawnp can't say so, as in an emulator.
  if (finished.exit_status == 127 && finished.messages.empty())
    return unsupported("run {}: no such program in PATH", arguments[0]);
  return finished;
}

}  // namespace cleave::runtime
