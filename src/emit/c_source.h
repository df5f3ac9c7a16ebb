// Emits loop nests as C text: one function for each phase of a kernel, without headers.
//
// The arguments that a phase uses are declared in it; numbers with the values that calls pass:
//
//   const int64_t number0 = scalar[0];  // 256, 64
//
// A phase is a parallel loop, or consecutive other statements, at the top level of the kernel's
// body. Phases run in order; a parallel one may be split into pieces [begin, end) of its range:
//
//   int64_t NAME_PHASE(void *const *buffer, const int64_t *scalar,
//                      int64_t begin, int64_t end, int64_t *fault);
//
// The result is 0, or n if the n-th Check of the kernel (from 1) failed; then fault[0] is the index
// and fault[1] its bound. Kernels call no library but libm, and allocate nothing.
#pragma once
#include <string>
#include <vector>

#include "loop/kernel.h"
#include "run/phase.h"

namespace cleave::emit {

using Phase = KernelPhase;

struct CKernel {
  std::string text;  // the functions, without the prelude
  std::vector<Phase> phases;
  std::vector<CheckText> checks;  // in the order of their numbers
  size_t scalars = 0;             // how many each call passes
};

// The kernel must be scheduled. `symbol` begins the functions' names; it must be a C identifier.
CKernel emit_c(const loop::Kernel& kernel, const std::string& symbol);

// The typedefs and inline functions that kernels may use; written once before them.
std::string c_prelude();
// Only those that these kernels use.
std::string c_prelude_for(const std::string& kernels);
// One of its functions alone; empty if it has none of this name.
std::string_view c_function(std::string_view name);

// A C identifier made from a value's name.
std::string c_identifier(const std::string& name);

}  // namespace cleave::emit
