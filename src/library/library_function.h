// The function of a library call: made once for a spec and a target, called in each run of a
// program.
#pragma once
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

#include "base/result.h"

namespace cleave {

struct RunContext;  // run/run_context.h
class LibraryFunction;

// A call with what LibraryFunction::call takes.
struct LibraryRun {
  const LibraryFunction* function = nullptr;
  void* const* operands = nullptr;
  void* scratch = nullptr;
};
constexpr size_t max_joined_calls = 16;  // of one job

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

  // Whether its calls may run as one job with those of other functions that can join.
  virtual bool can_join() const { return false; }
  // A job of up to max_joined_calls calls of functions that can join, none of which touches memory
  // that another writes. Each result has the bits that `call` gives it. Allocates nothing.
  virtual void call_joined(std::span<const LibraryRun> calls, const RunContext& context) const {
    for (const LibraryRun& c : calls) c.function->call(c.operands, c.scratch, context);
  }
};

using LibraryFunctionPtr = std::shared_ptr<const LibraryFunction>;

}  // namespace cleave
