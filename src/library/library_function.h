// A library call that is made for one spec and one target, and run at each step.
#pragma once
#include <cstdint>
#include <memory>

#include "base/result.h"
#include "cleave/executor.h"

namespace cleave {

class LibraryFunction {
 public:
  virtual ~LibraryFunction() = default;
  // What a call needs: a multiple of 64, depends on the spec and the target.
  virtual int64_t scratch_bytes() const = 0;
  // Pointers in the order of the spec's kind (GemmOperand and others), max_library_operands of
  // them; null where a call has no such operand. scratch is aligned to 64. Any number of threads
  // may call one function at once, each with its own scratch. Nothing is allocated.
  virtual void call(void* const* operands, void* scratch, Executor& executor) const = 0;
};

using LibraryFunctionPtr = std::shared_ptr<const LibraryFunction>;

}  // namespace cleave
