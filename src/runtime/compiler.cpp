// Chooses a compiler, and loads what it made.
#include "runtime/compiler.h"

#include "base/target.h"
#include "runtime/clang_plugin.h"
#include "version.h"

namespace cleave::runtime {

Result<std::shared_ptr<LoadedCode>> Compiler::compile(const std::string& c_text,
                                                      const std::string& unit_name, TextKind kind) {
  CLEAVE_TRY(const ObjectCode code, object(c_text, unit_name, kind));
  Result<std::shared_ptr<LoadedCode>> loaded = load_code(code);
  if (!loaded.ok()) return std::move(loaded).failure().within(unit_name);
  return loaded;
}

bool finds_compiler() {
  if (!clang_plugin_path().empty()) return true;
  static const bool has_cc = make_cc_compiler(Target::here()).ok();
  return has_cc;
}

std::string cc_command() {
  const std::string prefix = CLEAVE_TOOL_PREFIX;
  return prefix.empty() ? "cc" : prefix + "gcc";
}

std::string objcopy_command() { return CLEAVE_TOOL_PREFIX "objcopy"; }

Result<std::shared_ptr<Compiler>> make_compiler(CompilerChoice kind, const Target& target) {
  const std::string_view mine = architecture_of(detect_instruction_set());
  if (architecture_of(target.set) != mine)
    return unsupported(
        "compiler: target {}: what compiles kernels here makes code of {} alone; "
        "compile the program on a machine of {}, or plan it without compiling",
        target.text(), mine, architecture_of(target.set));
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
