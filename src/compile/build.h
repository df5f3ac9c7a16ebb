// A program on its way from the graph as it is to run to code. Each type says what is made by then;
// no stage can read what a later one makes (stages.h).
//
//   LoweredProgram   steps and loop nests                      lower/program.h
//   ScheduledProgram and how their loops run, and which of them are one function
//   EmittedProgram   and the text of the nests, in units
//   LinkedProgram    and the functions of library calls, whose workspaces are storages now
//   PlacedProgram    and where each storage lies; steps and storages are final
//   BuiltProgram     all that running needs
#pragma once
#include "backend/backend.h"
#include "lower/program.h"

namespace cleave {

struct ScheduledProgram {
  LoweredProgram lowered;
  schedule::SharedKernels functions;  // none where nests run as they are
};

struct EmittedProgram {
  LoweredProgram lowered;
  EmittedCode code;
};

using LibraryFunctions = std::vector<LibraryFunctionPtr>;  // of LibraryCalls, in order

struct LinkedProgram {
  LoweredProgram lowered;
  EmittedCode code;
  LibraryFunctions library;
};

struct PlacedProgram {
  PlannedProgram planned;
  EmittedCode code;
  LibraryFunctions library;
};

// Shared by the instances.
struct BuiltProgram {
  PlannedProgram planned;
  LibraryFunctions library;
  BuiltCode code;
  std::shared_ptr<const Backend> backend;  // that has made the functions
  const LoweredProgram& lowered() const { return planned.lowered; }
};

}  // namespace cleave
