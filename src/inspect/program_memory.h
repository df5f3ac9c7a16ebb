// The memory of one program over its steps, as it runs: a joint graph or a training step in one
// arena, a forward alone, or inference.
//
//   boundary    the first step of a late call (program_phases.h); the number of steps if none is
//   kept        storages of the arena that are written before it and read after it: what the
//               forward leaves for the backward
#pragma once
#include "compile/build.h"
#include "inspect/memory_profile.h"

namespace cleave {

struct KeptStorage {
  std::string name, made_by;  // its value, and what computes it: kernel, product, ...
  int64_t bytes = 0;          // rounded up to 64
  Kept kind = Kept::others;
  size_t first = 0, last = 0;      // steps
  std::vector<std::string> reads;  // the values whose late steps read it
};

struct ProgramMemory {
  MemoryProfile profile;
  size_t peak_step = 0;
  std::vector<KeptStorage> at_peak;  // of the arena, by falling bytes
  std::vector<KeptStorage> kept;     // by falling bytes
};

// `graph` is the one that the thunks name the calls of.
ProgramMemory program_memory(const PlannedProgram& planned, const Graph& graph);

}  // namespace cleave
