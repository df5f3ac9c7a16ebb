// memory.svg: bytes over the thunks of both halves, stacked by kind; the budget as a line, the peak
// marked.
#pragma once
#include <optional>
#include <string>

#include "inspect/memory_profile.h"

namespace cleave {

std::string memory_chart(const std::string& title, const MemoryProfile& profile,
                         std::optional<int64_t> budget);

}  // namespace cleave
