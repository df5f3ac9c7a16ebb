// Chooses a compiler.
#include "runtime/compiler.h"

namespace cleave::runtime {

Result<std::shared_ptr<Compiler>> make_compiler(CompilerChoice kind, const Target& target) {
  switch (kind) {
    case CompilerChoice::clang: return make_clang_compiler(target);
    case CompilerChoice::cc: return make_cc_compiler(target);
    case CompilerChoice::none: return unsupported("compiler: none compiles nothing; name another");
    case CompilerChoice::automatic: break;
  }
  Result<std::shared_ptr<Compiler>> clang = make_clang_compiler(target);
  if (clang.ok() || clang.failure().kind != ErrorKind::unsupported) return clang;
  Result<std::shared_ptr<Compiler>> cc = make_cc_compiler(target);
  if (!cc.ok() && cc.failure().kind == ErrorKind::unsupported)
    return unsupported("{}; {}", clang.failure().message, cc.failure().message);
  return cc;
}

}  // namespace cleave::runtime
