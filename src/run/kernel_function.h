// The functions that thunks call, and how a kernel says that a check failed.
#pragma once
#include <cstdint>
#include <functional>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "run/arena_memory.h"
#include "run/phase.h"
#include "run/run_context.h"

namespace cleave {

// A failed check of a kernel. With bound -1 the message says all; else `index` is outside [0,
// bound) if from_zero, outside [-bound, bound) if not.
struct Fault {
  std::string_view message;
  bool from_zero = false;
  int64_t index = 0, bound = 0;
};

inline Fault fault_of(const std::vector<CheckText>& checks, const QueuedFault& failed) {
  const CheckText& check = checks[static_cast<size_t>(failed.check)];
  return {check.message, check.from_zero, failed.index, failed.bound};
}

// A kernel that can be called, by several threads at a time. Allocates nothing.
class KernelFunction {
 public:
  virtual ~KernelFunction() = default;
  // `buffers` in the order of the kernel's; `scalars` those of the KernelCall. On a queue it
  // returns before it has run, and ArenaMemory::finish says what failed.
  virtual std::optional<Fault> call(void* const* buffers, const int64_t* scalars,
                                    const RunContext& context) const = 0;
  // Whether it may write the buffer.
  virtual bool writes(size_t /*buffer*/) const { return true; }
  // Of a check of this kernel.
  virtual Fault fault_of(const QueuedFault& failed) const = 0;
};

// Takes the operands (null where one isn't given) and the results.
using ForeignFunction = std::function<void(void* const*, void* const*)>;
// That of a C text (library/host_code.h).
using HostFunction = void(void* const*, void* const*, const long*);
inline ForeignFunction with_sizes(HostFunction* f, std::vector<int64_t> sizes) {
  return [f, sizes = std::move(sizes)](void* const* operands, void* const* results) {
    f(operands, results, sizes.data());
  };
}

}  // namespace cleave
