// ATen operators that PyTorch graphs may contain and that cleave refuses by name: the parser's
// message says why, and doc/ops.md lists them.
#pragma once
#include <span>
#include <string_view>

namespace cleave {

struct UncoveredOp {
  std::string_view name;
  std::string_view reason;  // completes "the operator 'x' is not covered: "
};

// Sorted by name.
std::span<const UncoveredOp> uncovered_ops();
// Returns null if the name is not in the table.
const UncoveredOp* find_uncovered(std::string_view name);

}  // namespace cleave
