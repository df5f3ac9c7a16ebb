// clang's front end without files: C text to LLVM's IR, unoptimised.
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

// The module lives in `context`. Bug with clang's diagnostics where the text doesn't compile.
Result<std::unique_ptr<llvm::Module>> parse_c(const std::string& text, const std::string& unit_name,
                                              const HostTarget& host, llvm::LLVMContext& context);

}  // namespace cleave::runtime
