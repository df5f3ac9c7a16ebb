// All that running a program needs.
#pragma once
#include "emit/bytecode.h"
#include "emit/c_source.h"
#include "lower/program.h"
#include "runtime/compiler.h"
#include "runtime/library.h"

namespace cleave {

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

// All that running needs; shared by the instances.
struct BuiltProgram {
  LoweredProgram lowered;
  std::vector<BuiltKernel> kernels;
  std::vector<runtime::LibraryFunctionPtr> library;  // one for each LibraryCall, in order
  std::vector<ForeignFunction> foreign;              // one for each ForeignCall, in order
  std::vector<std::shared_ptr<runtime::LoadedCode>> code;
};

constexpr int64_t max_pieces = 64;

}  // namespace cleave
