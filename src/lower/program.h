// A lowered program: what a run of it reads (run/program.h), and the loop nests of its kernels, of
// which code is made.
#pragma once
#include "ir/graph.h"
#include "loop/kernel.h"
#include "loop/lower_rule.h"
#include "run/program.h"

namespace cleave {

struct LoweredProgram : ThunkProgram {
  std::vector<loop::Kernel> kernels;  // distinct ones
  // Storages that thunks of one node write, each other elements (lower_rows.h).
  std::vector<size_t> in_pieces = {};
  ThunkProgram& thunk_program() { return *this; }
  const ThunkProgram& thunk_program() const { return *this; }
};

// A lowered program whose storages have lifetimes and offsets. Its thunks and storages are final.
struct PlannedProgram {
  LoweredProgram lowered;
  std::vector<int64_t> offsets;  // by storage, in the arena; 0 for others
  int64_t arena_bytes = 0;
  MemoryBound bound = {};
  int64_t peak_bytes() const { return bound.placeholders + arena_bytes; }
};

}  // namespace cleave
