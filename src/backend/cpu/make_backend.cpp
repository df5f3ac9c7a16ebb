#include "backend/make_backend.h"

#include "backend/cpu/cpu_backend.h"
#include "runtime/compiler.h"

namespace cleave {

CompilerChoice found_compiler(CompilerChoice choice) {
  return choice == CompilerChoice::automatic && !runtime::finds_compiler() ? CompilerChoice::none
                                                                           : choice;
}

std::shared_ptr<Backend> make_backend(const Target& target, CompilerChoice compiler) {
  return std::make_shared<cpu::CpuBackend>(target, compiler);
}

}  // namespace cleave
