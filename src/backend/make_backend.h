// Chooses the backend of a target. Defined where each is known (cpu/make_backend.cpp), so that the
// rooms that ask a backend see none.
#pragma once
#include "backend/backend.h"
#include "cleave/compiler_choice.h"

namespace cleave {

// Of the target's processor. `compiler`: of C text; none runs kernels as bytecode. Nothing is
// opened or compiled yet.
std::shared_ptr<Backend> make_backend(const Target& target,
                                      CompilerChoice compiler = CompilerChoice::automatic);

}  // namespace cleave
