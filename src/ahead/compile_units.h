// Units of C text as object files.
#pragma once
#include "backend/backend.h"
#include "runtime/compiler.h"

namespace cleave::ahead {

using ObjectFile = std::vector<std::byte>;

// In parallel on the executor. Errors: those of compilers; user: the C text of an operator doesn't
// compile.
Result<std::vector<ObjectFile>> compile_units(const std::vector<SourceUnit>& units,
                                              runtime::Compiler& compiler, Executor& executor);

// Bytes of the sections that a program has in its memory; 0 for other bytes than an object file.
int64_t code_bytes(const ObjectFile& object);

}  // namespace cleave::ahead
