// The steps of subgraphs in the places of their callers, and jumps between them (drawings in
// program.h).
#pragma once
#include "lower/lowering.h"

namespace cleave {

// Where the items of the call's list of operands are.
Locations list_locations(const Lowering& lowering, const OpView& op);

// The steps of a subgraph, its operands being where they are; gives where its results are.
Result<Locations> inline_subgraph(Lowering& lowering, const Graph& graph,
                                  const Locations& operands);

// The storage of values[k], when it was made since `own`, holds that value alone, and is whole.
std::optional<size_t> own_storage(const LoweredProgram& program, const Locations& values, size_t k,
                                  size_t own);

// Puts a storage in the place of another in the steps from the first one on.
void replace_storage(LoweredProgram& program, size_t first_step, size_t from, size_t to);

// Appends a jump; set_target gives it the place after the steps so far.
size_t add_jump(Lowering& lowering, const std::string& name, std::optional<Location> unless);
void set_target(LoweredProgram& program, size_t jump);

}  // namespace cleave
