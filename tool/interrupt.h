// SIGINT as a flag, for commands that save what they have before they end.
//
//   const InterruptGuard guard;
//   while (!InterruptGuard::is_set()) ...
//   throw Interrupted();  // tool/command.h
#pragma once
#include <csignal>

namespace cleave::tool {

// While this object lives, SIGINT sets the flag; a second SIGINT ends the process as usual.
class InterruptGuard {
 public:
  InterruptGuard();
  ~InterruptGuard();
  InterruptGuard(const InterruptGuard&) = delete;
  InterruptGuard& operator=(const InterruptGuard&) = delete;

  static bool is_set();

 private:
  struct sigaction before_{};
};

}  // namespace cleave::tool
