// Chooses the backend of a target. Defined in src/backend/choice, so that the users of Backend
// depend on none of them.
#pragma once
#include "backend/backend.h"
#include "cleave/compiler_choice.h"
#include "cleave/device.h"

namespace cleave {

// automatic becomes none where this machine has no compiler.
CompilerChoice found_compiler(CompilerChoice choice);

// `compiler` compiles C text for a processor; with `none` kernels run as bytecode. Nothing is
// compiled yet. Of a device that isn't the processor the target is its own, where `target` names a
// processor.
std::shared_ptr<Backend> make_backend(const Target& target,
                                      CompilerChoice compiler = CompilerChoice::automatic,
                                      const Device& device = {});

}  // namespace cleave
