// Which compiler: see compiler.h.
#include "runtime/compiler.h"

namespace cleave::runtime {

#if !CLEAVE_HAVE_CLANG
Result<std::shared_ptr<Compiler>> make_clang_compiler(const Target&) {
  return unsupported(
      "compiler: clang: this build has no clang/LLVM 19 in it (configure with CLEAVE_CLANG=ON), "
      "or ask for the compiler cc");
}
#endif

Result<std::shared_ptr<Compiler>> make_compiler(CompilerKind kind, const Target& target) {
  switch (kind) {
    case CompilerKind::clang: return make_clang_compiler(target);
    case CompilerKind::cc: return make_cc_compiler(target);
    case CompilerKind::none: return unsupported("compiler: none compiles nothing; name another");
    case CompilerKind::automatic: break;
  }
  return CLEAVE_HAVE_CLANG ? make_clang_compiler(target) : make_cc_compiler(target);
}

}  // namespace cleave::runtime
