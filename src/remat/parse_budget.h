// A memory budget from text: 64MiB, 1048576, 60%.
#pragma once
#include "base/result.h"
#include "cleave/memory_budget.h"

namespace cleave {

// Errors (user): anything else, 0, a percentage outside of (0, 100].
Result<MemoryBudget> parse_budget(const std::string& text);
// The same check for a budget that came as a value.
Status check_budget(const MemoryBudget& budget);

}  // namespace cleave
