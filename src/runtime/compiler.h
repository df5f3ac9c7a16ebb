// From C text to functions that can be called.
//
//   CLEAVE_TRY(auto compiler, make_compiler(CompilerChoice::automatic, target));
//   CLEAVE_TRY(auto code, compiler->compile(text, "unit0"));
//   auto* kernel = reinterpret_cast<void (*)(float*)>(code->symbol("k0"));
//
// The text is GNU C11 without any #include; what it may call beyond its own functions is memcpy,
// memmove, memset and the C mathematical functions. Both compilers optimise for the target
// under the same rules of arithmetic: no fused multiply-add that the text doesn't ask for, no fast
// mathematics, no errno, no floating-point traps. Text that asks for a call by __builtin_NAME gets
// the instruction where there is one.
//
//   clang   in this process, through the clang and LLVM 19 libraries (clang_plugin.h)
//   cc      the system's compiler as a process of its own, and dlopen
//
// Errors: Bug with the compiler's diagnostics where the text doesn't compile; Unsupported where the
// compiler isn't there; UserError where the temporary folder can't be written.
#pragma once
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "base/result.h"
#include "cleave/compiler_choice.h"
#include "cleave/target.h"

namespace cleave::runtime {

// Compiled functions, loaded until this object goes.
struct LoadedCode {
  virtual ~LoadedCode() = default;
  // The address of a function of the text that isn't static, or null. Any thread.
  virtual void* symbol(const std::string& name) const = 0;
};

// kernels: of src/emit, which leave little to do for a compiler's passes.
enum class TextKind : uint8_t { any, kernels };

class Compiler {
 public:
  virtual ~Compiler() = default;
  // `unit_name` stands in diagnostics. Any number of threads may compile at once.
  virtual Result<std::shared_ptr<LoadedCode>> compile(const std::string& c_text,
                                                      const std::string& unit_name,
                                                      TextKind kind = TextKind::any) = 0;
  // "clang" or "cc".
  virtual std::string_view name() const = 0;
  // All that decides the machine code beside the text: version, target, flags.
  virtual const std::string& identity() const = 0;
};

// automatic: clang where its plug-in can be opened, else cc. none is refused
// (unsupported): it compiles nothing, kernels are interpreted (emit/bytecode.h).
Result<std::shared_ptr<Compiler>> make_compiler(CompilerChoice kind, const Target& target);

// The two after make_compiler. `folder` is where cc makes its private temporary folders.
Result<std::shared_ptr<Compiler>> make_clang_compiler(const Target& target);
Result<std::shared_ptr<Compiler>> make_cc_compiler(const Target& target,
                                                   const std::string& command = "cc",
                                                   const std::string& folder = "/tmp");

}  // namespace cleave::runtime
