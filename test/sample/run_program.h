// A graph on arrays, compiled or as bytecode.
#pragma once
#include "exec/executable.h"
#include "ir/array.h"

namespace cleave::law {

using Memory = std::vector<std::vector<std::byte>>;

// Allocates the placeholders' memory, writes the inputs with the strides of their types, and binds
// it to the instance. Gaps between elements, and 64 bytes after the last, have all bits set: NaN,
// or an index out of any range.
Result<Memory> bind_inputs(Instance& instance, const Graph& g, const Arrays& inputs);

// Where the run has written to memory that isn't an element of an updated placeholder; empty:
// nowhere.
std::string stray_write(const Graph& g, const Arrays& inputs, const Memory& after);

// The elements of entry k of `return` of the last run, row-major whatever its strides.
std::vector<std::byte> result_bytes(const Instance& instance, const Graph& g, size_t k);

// One run; the elements of each entry of `return`. Fails (bug) where it writes what it must not.
Result<Memory> run_program(std::shared_ptr<const CompiledProgram> program, const Arrays& inputs,
                           int threads);

// Those bytes as the entries of `return`.
Arrays result_arrays(const Graph& g, const Memory& results);

// Compiles and runs; the entries of `return`.
Result<Arrays> run_graph(const Graph& g, const OpRegistry& ops, const Arrays& inputs,
                         const StageOptions& options, int threads);
Result<Arrays> run_graph(const Graph& g, const OpRegistry& ops, const Arrays& inputs,
                         CompilerChoice compiler = CompilerChoice::automatic, int threads = 2,
                         bool fuse = true, const Target& target = Target::here());

}  // namespace cleave::law
