// The workspace of a thunk.
#pragma once
#include <optional>

#include "lower/program.h"

namespace cleave {

// Adds a workspace storage of `bytes`; nullopt for 0.
std::optional<size_t> add_workspace(LoweredProgram& program, const std::string& thunk,
                                    int64_t bytes);

}  // namespace cleave
