// The parts of a written program as a library holds them.
#pragma once
#include "ahead/source.h"
#include "compile/build.h"

namespace cleave::ahead {

// A program and what is compiled into a library for it.
struct PackedProgram {
  standalone::ProgramEntry entry;
  std::vector<SourceUnit> units;
  std::vector<std::string> phases;     // symbols, in the order of the entry's kernels
  std::vector<std::string> operators;  // symbols of host units, in the order of their calls
  // Calls of the host program, by the name of their first result.
  struct Callback {
    std::string name, op;
    std::vector<std::string> operands, results;  // types; "none"
  };
  std::vector<Callback> callbacks;
};

// Symbols get `prefix`, so that several programs can be linked together.
PackedProgram pack_program(const WrittenProgram& written, const std::string& prefix);

}  // namespace cleave::ahead
