// A kernel under construction, and the step that calls it.
#pragma once
#include "lower/lowering.h"

namespace cleave {

struct KernelStep {
  loop::Kernel kernel;
  KernelCall call;

  // What lies there, as the kernel's loops see it. One buffer for all that share the storage.
  loop::Bound bind(const LoweredProgram& program, const Location& at, DType dtype,
                   loop::Access access);
};

// Checks indices.
bool may_fail(const loop::Kernel& kernel);

void add_step(Lowering& lowering, KernelStep step, const std::string& name);

}  // namespace cleave
