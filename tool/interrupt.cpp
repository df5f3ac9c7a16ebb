#include "tool/interrupt.h"

namespace cleave::tool {
namespace {

volatile std::sig_atomic_t caught = 0;

}  // namespace

InterruptGuard::InterruptGuard() {
  caught = 0;
  struct sigaction action{};
  action.sa_handler = [](int number) { caught = number; };
  action.sa_flags = static_cast<int>(SA_RESETHAND);
  sigaction(SIGINT, &action, &interrupt_before_);
  sigaction(SIGTERM, &action, &terminate_before_);
}

InterruptGuard::~InterruptGuard() {
  sigaction(SIGINT, &interrupt_before_, nullptr);
  sigaction(SIGTERM, &terminate_before_, nullptr);
}

int InterruptGuard::signal() { return caught; }

}  // namespace cleave::tool
