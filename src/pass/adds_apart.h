// Decides where a sum onto a matrix product belongs: in the product, or in the kernels that use it.
#pragma once
#include "ir/graph.h"

namespace cleave {

// Whether the value, a sum onto a product, should be left to its users: true on a GPU if all of
// them are elementwise and can compute it themselves. On a CPU the product adds in registers at no
// cost; and bf16 and f16 sums round only once inside it. The rules that fuse and unfuse both call
// this function, so that they never undo each other.
// Source: post_grad.py should_prefer_unfused_addmm, PyTorch 2.13.
bool adds_apart(const Graph& graph, ValueId sum);

// Whether `shape` provably broadcasts to `to`.
bool broadcasts_to(const Graph& graph, const Shape& shape, const Shape& to);

}  // namespace cleave
