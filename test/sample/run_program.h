// A graph on arrays, compiled or as bytecode.
#pragma once
#include "compile/executable.h"
#include "ir/array.h"

namespace cleave::law {

using Memory = std::vector<std::vector<std::byte>>;

// One run; the bytes of each entry of `return`.
Result<Memory> run_program(std::shared_ptr<const CompiledProgram> program, const Arrays& inputs,
                           int threads);

// Compiles and runs; the entries of `return`.
Result<Arrays> run_graph(const Graph& g, const OpRegistry& ops, const Arrays& inputs,
                         runtime::CompilerKind compiler = runtime::CompilerKind::automatic,
                         int threads = 2, bool fuse = true, const Target& target = Target::here());

}  // namespace cleave::law
