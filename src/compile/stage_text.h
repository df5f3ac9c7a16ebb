// What a stage left, as the texts that observers read and --dump writes
// (cleave/compile_observer.h).
#pragma once
#include "cleave/compile_observer.h"
#include "compile/build.h"

namespace cleave {

using StageFiles = std::vector<StageText::File>;

StageFiles files_of(const Graph& graph);               // clv
StageFiles files_of(const LoweredProgram& program);    // loops
StageFiles files_of(const ScheduledProgram& program);  // loops, those that are emitted
StageFiles files_of(const EmittedCode& code);          // unit_0.c, ...; none of bytecode
inline StageFiles files_of(const EmittedProgram& program) { return files_of(program.code); }
inline StageFiles files_of(const PlacedProgram& program) { return files_of(program.code); }

}  // namespace cleave
