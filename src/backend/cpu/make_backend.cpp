#include "backend/make_backend.h"

#include "backend/cpu/cpu_backend.h"

namespace cleave {

std::shared_ptr<Backend> make_backend(const Target& target, CompilerChoice compiler) {
  return std::make_shared<cpu::CpuBackend>(target, compiler);
}

}  // namespace cleave
