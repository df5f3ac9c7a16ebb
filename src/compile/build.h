// A program on its way from the graph as it is to run to code. Each type says what is made by then;
// no stage can read what a later one makes (stages.h).
//
//   LoweredProgram   steps and loop nests                      lower/program.h
//   EmittedProgram   and the text of the nests, in units
//   LinkedProgram    and the functions of library calls, whose workspaces are storages now
//   PlacedProgram    and where each storage lies; steps and storages are final
//   BuiltProgram     all that running needs
#pragma once
#include "emit/bytecode.h"
#include "emit/c_source.h"
#include "lower/program.h"
#include "runtime/compiler.h"
#include "runtime/library.h"

namespace cleave {

// The text of kernels; none where they run as bytecode.
struct EmittedCode {
  std::vector<std::string> units;      // those of kernels first, then those of the host program
  std::vector<emit::CKernel> kernels;  // as in LoweredProgram, without their texts
  std::vector<size_t> unit_of;         // for each kernel
  size_t kernel_units = 0;
};

struct EmittedProgram {
  LoweredProgram lowered;
  EmittedCode code;
};

using LibraryFunctions = std::vector<runtime::LibraryFunctionPtr>;  // of LibraryCalls, in order

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

// A phase of a distinct kernel: machine code, or bytecode where there is no compiler. Pieces depend
// on the shape alone.
struct BuiltPhase {
  using Function = int64_t (*)(void* const* buffer, const int64_t* scalar, int64_t begin,
                               int64_t end, int64_t* fault);
  Function function = nullptr;
  std::shared_ptr<const emit::Bytecode> bytecode = nullptr;
  int64_t extent = 1, pieces = 1;

  int64_t run(void* const* buffer, const int64_t* scalar, int64_t begin, int64_t end,
              int64_t* fault) const {
    return function ? function(buffer, scalar, begin, end, fault)
                    : bytecode->run(buffer, scalar, begin, end, fault);
  }
};

struct BuiltKernel {
  std::vector<BuiltPhase> phases;
  std::vector<emit::CheckText> checks;
};

using ForeignFunction = std::function<void(void* const*, void* const*)>;

struct BuiltCode {
  std::vector<BuiltKernel> kernels;
  std::vector<ForeignFunction> foreign;                    // one for each ForeignCall, in order
  std::vector<std::shared_ptr<runtime::LoadedCode>> code;  // holds the functions
};

// Shared by the instances.
struct BuiltProgram {
  PlannedProgram planned;
  LibraryFunctions library;
  BuiltCode code;
  const LoweredProgram& lowered() const { return planned.lowered; }
};

constexpr int64_t max_pieces = 64;

}  // namespace cleave
