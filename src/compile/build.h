// The results of the stages between the final graph and machine code. Each stage has a type of its
// own, so that none can read what a later one makes (stages.h).
//
//   LoweredProgram    thunks and loop nests (lower/program.h); once it is linked, the functions of
//                     library calls, whose workspaces are storages from then on
//   ScheduledProgram  + how each loop runs, and which nests share a function
//   EmittedProgram    + the text of the nests, in units
//   PlacedProgram     + the offset of each storage; thunks and storages are final
//   BuiltProgram      all that a run needs: no loop nests any more
#pragma once
#include "backend/backend.h"
#include "compile/lowered_graph.h"
#include "lower/program.h"
#include "lower/traffic.h"
#include "run/runner.h"

namespace cleave {

struct ScheduledProgram {
  LoweredProgram lowered;
  schedule::SharedKernels functions;  // empty where kernels run as bytecode
};

struct EmittedProgram {
  LoweredProgram lowered;
  EmittedCode code;
};

struct PlacedProgram {
  PlannedProgram planned;
  EmittedCode code;
};

// A program as text, for a compiler of another time.
struct WrittenProgram {
  PlacedProgram placed;
  Graph graph = Graph("none");     // that thunks name the calls of
  Graph frozen = Graph("frozen");  // as in BuiltProgram
};

// The instances of a program share it.
struct BuiltProgram {
  PlannedProgram planned;
  BuiltCode code = {};
  std::shared_ptr<const Backend> backend;  // made the functions
  std::shared_ptr<const LoweredGraph> graph = {};
  std::vector<KernelTraffic> traffic = {};  // by thunk
  // Computes the placeholders of the same names (freeze/frozen_values.h); no returns: there are
  // none.
  Graph frozen = Graph("frozen");
  const LoweredProgram& lowered() const { return planned.lowered; }
  RunnableProgram runnable() const {
    return {planned.lowered, planned.offsets, code.kernels, code.foreign};
  }
};

}  // namespace cleave
