// A chain of layers on f32[64,64] of any length, for measuring how stages scale.
//
// Of 8 nodes one is dead and one repeats another:
//   t = permute(w)   h = mm(x, t)   a = add(h, b)   m = mean(a)   d = sub(a, m)
//   g = tanh(d)      a2 = add(h, b) = a             x' = mul(g, a2)              e = exp(g), dead
#pragma once
#include "ir/graph.h"
#include "ir/op_def.h"

namespace cleave::bench {

// With at least `nodes` nodes.
Graph layer_graph(const OpRegistry& ops, int64_t nodes);

// The same with something for passes in each layer: a second permute that undoes the first, and a
// pair of products of equal shapes.
Graph foldable_graph(const OpRegistry& ops, int64_t nodes);

}  // namespace cleave::bench
