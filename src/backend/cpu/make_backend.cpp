#include "backend/make_backend.h"

#include "backend/cpu/cpu_backend.h"

namespace cleave {

std::shared_ptr<Backend> make_backend(const Target& target, CompilerChoice compiler,
                                      std::shared_ptr<cache::DiskCache> cache) {
  return std::make_shared<cpu::CpuBackend>(target, compiler, std::move(cache));
}

}  // namespace cleave
