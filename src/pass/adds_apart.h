// Where a sum onto a matrix product belongs: into the product, or into the kernels that read it.
#pragma once
#include "ir/graph.h"

namespace cleave {

// Whether the value, a sum onto a product, is better left to its readers: on a GPU, where all of
// them are elementwise and compute it on the way. On a CPU the product adds in registers at no
// cost; and bf16 and f16 sums round once inside it. The rules that fuse and that take apart ask
// this one question, so that they never undo each other.
// Source: post_grad.py should_prefer_unfused_addmm, PyTorch 2.13.
bool adds_apart(const Graph& graph, ValueId sum);

// Whether `shape` broadcasts to `to`, as proven.
bool broadcasts_to(const Graph& graph, const Shape& shape, const Shape& to);

}  // namespace cleave
