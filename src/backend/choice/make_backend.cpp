#include "backend/make_backend.h"

#include "backend/cpu/cpu_backend.h"
#include "backend/cuda/cuda_backend.h"
#include "base/target.h"
#include "runtime/compiler.h"

namespace cleave {

CompilerChoice found_compiler(CompilerChoice choice) {
  return choice == CompilerChoice::automatic && !runtime::finds_compiler() ? CompilerChoice::none
                                                                           : choice;
}

std::shared_ptr<Backend> make_backend(const Target& target, CompilerChoice compiler,
                                      const Device& device) {
  if (target.cuda_arch != 0) return std::make_shared<cuda::CudaBackend>(target, device.index);
  if (!device.is_cpu()) {
    Target own = cuda_target(device.index);
    own.is_deterministic = target.is_deterministic;
    return std::make_shared<cuda::CudaBackend>(own, device.index);
  }
  return std::make_shared<cpu::CpuBackend>(target, compiler);
}

}  // namespace cleave
