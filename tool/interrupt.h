// SIGINT and SIGTERM as a flag, for commands that save what they have before they end.
//
//   const InterruptGuard guard;
//   while (!InterruptGuard::is_set()) ...
//   throw Interrupted{InterruptGuard::signal()};  // tool/command.h
#pragma once
#include <csignal>

namespace cleave::tool {

// While this object lives, either signal sets the flag; the same one again ends the process as
// usual.
class InterruptGuard {
 public:
  InterruptGuard();
  ~InterruptGuard();
  InterruptGuard(const InterruptGuard&) = delete;
  InterruptGuard& operator=(const InterruptGuard&) = delete;

  static bool is_set() { return signal() != 0; }
  static int signal();  // that was caught; 0: none

 private:
  struct sigaction interrupt_before_{}, terminate_before_{};
};

}  // namespace cleave::tool
