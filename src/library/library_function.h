// The function of a library call: made once for a spec and a target, called in each run of a
// program.
#pragma once
#include <cstdint>
#include <memory>

#include "base/result.h"

namespace cleave {

struct RunContext;  // run/run_context.h

class LibraryFunction {
 public:
  virtual ~LibraryFunction() = default;
  // Workspace of a call, a multiple of 64. Depends only on the spec and the target.
  virtual int64_t scratch_bytes() const = 0;
  // `operands` are max_library_operands pointers in the order of the spec's kind (GemmOperand and
  // others), null for those that the call doesn't have. `scratch` is aligned to 64. Threads may
  // call one function at the same time, each with its own scratch. Allocates nothing. On a
  // queue it returns before it has run.
  virtual void call(void* const* operands, void* scratch, const RunContext& context) const = 0;
};

using LibraryFunctionPtr = std::shared_ptr<const LibraryFunction>;

}  // namespace cleave
