// clang's front end without files: compiles C text to unoptimized LLVM IR.
#pragma once
#include <memory>
#include <string>

#include "base/result.h"
#include "clang/host_target.h"

namespace llvm {
class LLVMContext;
class Module;
}  // namespace llvm

namespace cleave::runtime {

// The module belongs to `context`. Returns a Bug with clang's diagnostics if the text is invalid.
Result<std::unique_ptr<llvm::Module>> parse_c(const std::string& text, const std::string& unit_name,
                                              const HostTarget& host, llvm::LLVMContext& context);

}  // namespace cleave::runtime
