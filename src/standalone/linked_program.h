// A program of a library with its functions, ready to be run by any number of runners.
#pragma once
#include <memory>
#include <span>
#include <vector>

#include "base/result.h"
#include "run/runner.h"
#include "runtime/library.h"
#include "standalone/embedded.h"
#include "standalone/program_file.h"

namespace cleave::standalone {

// The library's tables.
struct Functions {
  std::span<const cleave_phase> phases;
  std::span<const cleave_operator> operators;
  std::span<const ForeignFunction> callbacks;
};

class LinkedProgram {
 public:
  // Errors (bug): the tables are too short; a workspace has another size than is planned.
  static Result<std::unique_ptr<const LinkedProgram>> link(CodeEntry code,
                                                           const Functions& functions,
                                                           runtime::LibraryCache& library);
  RunnableProgram runnable() const { return {thunks_, offsets_, kernels_, foreign_}; }
  int64_t arena_bytes() const { return arena_bytes_; }
  const ThunkProgram& thunks() const { return thunks_; }

 private:
  LinkedProgram() = default;
  Status link_kernels(std::vector<KernelEntry>& kernels, const Functions& functions);
  Status link_foreign(const std::vector<ForeignEntry>& calls, const Functions& functions);
  Status link_library(LibraryCall& call, const std::string& name, runtime::LibraryCache& library);

  ThunkProgram thunks_;
  std::vector<int64_t> offsets_;
  int64_t arena_bytes_ = 0;
  std::vector<std::unique_ptr<const KernelFunction>> kernels_;
  std::vector<ForeignFunction> foreign_;
};

}  // namespace cleave::standalone
