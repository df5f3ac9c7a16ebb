// Chooses the backend of a target. Defined in src/backend/cpu, so that the users of Backend depend
// on none of them.
#pragma once
#include "backend/backend.h"
#include "cleave/compiler_choice.h"

namespace cleave {

// automatic becomes none where this machine has no compiler.
CompilerChoice found_compiler(CompilerChoice choice);

// `compiler` compiles C text; with `none` kernels run as bytecode. Nothing is opened or compiled
// yet.
std::shared_ptr<Backend> make_backend(const Target& target,
                                      CompilerChoice compiler = CompilerChoice::automatic);

}  // namespace cleave
