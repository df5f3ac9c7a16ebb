// Memory for a step alone.
#pragma once
#include <optional>

#include "lower/program.h"

namespace cleave {

// None where it needs none.
std::optional<size_t> add_workspace(LoweredProgram& program, const std::string& step,
                                    int64_t bytes);

}  // namespace cleave
