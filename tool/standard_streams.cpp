#include "tool/standard_streams.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstring>

namespace cleave::tool {

void keep_standard_streams() {
  for (const int fd : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO})
    if (::fcntl(fd, F_GETFD) < 0) {
      // Lower descriptors are open by now, so open() returns fd. For outputs a folder is opened, so
      // that opening it again through /dev/stdout fails too.
      const int made = fd == STDIN_FILENO ? ::open("/dev/null", O_WRONLY) : ::open("/", O_RDONLY);
      if (made >= 0 && made != fd) ::close(made);
    }
  // A handler and not SIG_IGN, which child processes would inherit.
  struct sigaction action{};
  action.sa_handler = [](int) {};
  action.sa_flags = SA_RESTART;
  ::sigaction(SIGPIPE, &action, nullptr);
}

void put(std::string_view text) {
  [[maybe_unused]] const size_t written = std::fwrite(text.data(), 1, text.size(), stdout);
}

Status check_stdout() {
  const bool flushed = std::fflush(stdout) == 0;
  const int error = errno;
  if (flushed && std::ferror(stdout) == 0) return {};
  return user_error("stdout: cannot write{}{}; the output is not complete", flushed ? "" : ": ",
                    flushed ? "" : std::strerror(error));
}

}  // namespace cleave::tool
