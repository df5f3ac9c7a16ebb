// Compiles C text to machine code, and that to functions that can be called.
//
//   CLEAVE_TRY(auto compiler, make_compiler(CompilerChoice::automatic, target));
//   CLEAVE_TRY(auto code, compiler->compile(text, "unit0"));
//   auto* kernel = reinterpret_cast<void (*)(float*)>(code->symbol("k0"));
//
// The text is GNU C11 without any #include; besides its own functions it may call memcpy, memmove,
// memset and the C mathematical functions. Both compilers optimise for the target under the same
// rules for arithmetic: no multiply-add is fused that the text doesn't ask for, no fast
// mathematics, no errno, no floating-point traps. A call of __builtin_NAME becomes an instruction
// if the target has one.
//
//   clang   in this process, through the clang and LLVM 19 libraries (clang_plugin.h)
//   cc      the system's compiler in another process
//
// Errors: Bug with the compiler's diagnostics if the text doesn't compile; Unsupported if there is
// no such compiler; UserError if the temporary folder can't be written.
#pragma once
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "base/result.h"
#include "cleave/compiler_choice.h"
#include "cleave/target.h"
#include "runtime/object_code.h"

namespace cleave::runtime {

// kernels: text of src/emit, which needs few of a compiler's passes.
enum class TextKind : uint8_t { any, kernels };

class Compiler {
 public:
  virtual ~Compiler() = default;
  // `unit_name` is used in diagnostics. Any number of threads may compile at once.
  virtual Result<ObjectCode> object(const std::string& c_text, const std::string& unit_name,
                                    TextKind kind = TextKind::any) = 0;
  // The bytes of an ELF object file, which can be linked with others.
  virtual Result<std::vector<std::byte>> relocatable(const std::string& c_text,
                                                     const std::string& unit_name,
                                                     TextKind kind = TextKind::any) {
    CLEAVE_TRY(ObjectCode code, object(c_text, unit_name, kind));
    return std::move(code.bytes);
  }
  // The same as object(), loaded.
  Result<std::shared_ptr<LoadedCode>> compile(const std::string& c_text,
                                              const std::string& unit_name,
                                              TextKind kind = TextKind::any);
  // "clang" or "cc".
  virtual std::string_view name() const = 0;
  // Everything but the text that the machine code depends on: version, target, flags.
  virtual const std::string& identity() const = 0;
};

// automatic: clang if its plug-in can be opened, else cc. none: an Unsupported error, since kernels
// are then interpreted (emit/bytecode.h); likewise a target of another architecture.
Result<std::shared_ptr<Compiler>> make_compiler(CompilerChoice kind, const Target& target);

// Whether automatic would be either of them: the plug-in is there, or cc is, of which the system is
// asked once a process. Opens nothing.
bool finds_compiler();

// The program that is cc: "cc", or in a cross build the architecture's gcc by the name that it has
// on both machines, "aarch64-linux-gnu-gcc". Likewise objcopy.
std::string cc_command();
std::string objcopy_command();

// The two compilers. `folder` is where cc makes its private temporary folders.
Result<std::shared_ptr<Compiler>> make_clang_compiler(const Target& target);
Result<std::shared_ptr<Compiler>> make_cc_compiler(const Target& target,
                                                   const std::string& command = cc_command(),
                                                   const std::string& folder = "/tmp");

}  // namespace cleave::runtime
