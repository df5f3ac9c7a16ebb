// Links an object in memory into this process with LLVM's ORC.
#pragma once
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "runtime/compiler.h"
#include "runtime/external_symbols.h"

namespace llvm {
class MemoryBuffer;
}

namespace cleave::runtime {

// Links eagerly, so that a missing symbol is an error here and not at the first call. The code can
// reach only the symbols in `outside`. `names` are the functions that symbol() finds.
Result<std::shared_ptr<LoadedCode>> load_object(std::unique_ptr<llvm::MemoryBuffer> object,
                                                const std::string& triple,
                                                const std::vector<std::string>& names,
                                                std::span<const ExternalSymbol> outside);

}  // namespace cleave::runtime
