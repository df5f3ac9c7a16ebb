#include "standalone/fault_text.h"

#include <fmt/format.h>

namespace cleave::standalone {

std::string fault_text(const Thunk& thunk, const Fault& fault) {
  if (fault.bound == -1) return fmt::format("{}, computing %{}", fault.message, thunk.name);
  return fmt::format("{}: index {} is out of range [{}, {}), computing %{}", fault.message,
                     fault.index, fault.from_zero ? 0 : -fault.bound, fault.bound, thunk.name);
}

}  // namespace cleave::standalone
