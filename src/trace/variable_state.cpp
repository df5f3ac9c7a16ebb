#include "trace/variable_state.h"

namespace cleave::trace {

void VariableState::read_back() {
  if (!is_elsewhere.load(std::memory_order_acquire)) return;
  const std::lock_guard lock(copy_mutex);
  if (!is_elsewhere.load(std::memory_order_relaxed)) return;
  value_or_throw(copy->copy_out(value));
  is_elsewhere.store(false, std::memory_order_release);
}

void VariableState::overwrite() {
  const std::lock_guard lock(copy_mutex);
  if (!is_elsewhere.load(std::memory_order_relaxed)) return;
  value_or_throw(copy->settled());  // the runs that write it
  is_elsewhere.store(false, std::memory_order_release);
}

void VariableState::forget_copies() {
  const std::lock_guard lock(copy_mutex);
  bound_there.reset();
  copy.reset();
}

void VariableState::written_elsewhere() {
  copied_version = ++version;
  is_elsewhere.store(true, std::memory_order_release);
}

}  // namespace cleave::trace
