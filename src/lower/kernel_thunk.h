// A kernel under construction, and the thunk that calls it.
#pragma once
#include "lower/lowering.h"

namespace cleave {

struct KernelThunk {
  loop::Kernel kernel;
  KernelCall call;

  // The buffer of this memory, as the kernel's loops see it. All that share a storage share a
  // buffer.
  loop::Bound bind(const LoweredProgram& program, const MemRef& at, DType dtype,
                   loop::Access access);
};

// Whether it checks indices.
bool may_fail(const loop::Kernel& kernel);

void add_thunk(Lowering& lowering, KernelThunk thunk, const std::string& name);

}  // namespace cleave
