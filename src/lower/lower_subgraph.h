// Inlines subgraphs at their callers, with jumps between them (drawings in program.h).
#pragma once
#include "lower/lowering.h"

namespace cleave {

// The memory of the items of the call's list operand.
MemRefs list_memory(const Lowering& lowering, const OpView& op);

// Appends the thunks of a subgraph whose operands are in the given memory; returns the memory of
// its results. With `wanted`, calls that can write a result there do.
Result<MemRefs> inline_subgraph(Lowering& lowering, const Graph& graph, const MemRefs& operands,
                                const MemRefs& wanted = {});

// The storage of values[k], if it was added since `own`, no other of the values is in it, and the
// value fills it.
std::optional<size_t> own_storage(const LoweredProgram& program, const MemRefs& values, size_t k,
                                  size_t own);

// Replaces storage `from` by `to` in all thunks since the given one.
void replace_storage(LoweredProgram& program, size_t first_thunk, size_t from, size_t to);

// Appends a jump and returns its number; set_target lets it jump to the end of the thunks so far.
size_t add_jump(Lowering& lowering, const std::string& name, std::optional<MemRef> unless);
void set_target(LoweredProgram& program, size_t jump);

}  // namespace cleave
