// The output is read through a pipe, so that nothing is left on disk.
#include "runtime/subprocess.h"

#include <errno.h>
#include <fcntl.h>
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

}  // namespace

Result<Finished> run_program(const std::vector<std::string>& arguments) {
  std::vector<char*> words;
  for (const std::string& word : arguments) words.push_back(const_cast<char*>(word.c_str()));
  words.push_back(nullptr);
  Pipe pipe;
  if (pipe2(pipe.ends, O_CLOEXEC) != 0)
    return bug("run {}: no pipe: {}", arguments[0], strerror(errno));

  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_adddup2(&actions, pipe.ends[1], STDOUT_FILENO);
  posix_spawn_file_actions_adddup2(&actions, pipe.ends[1], STDERR_FILENO);
  pid_t child = 0;
  const int error = posix_spawnp(&child, words[0], &actions, nullptr, words.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
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
