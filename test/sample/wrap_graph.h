// A graph inside a branch or a loop, so that what is tested of graphs is tested of subgraphs too.
//
//   in_cond   main(%wrap.pred, placeholders...): a cond of which both branches are the graph
//   in_loop   main(%wrap.go, %wrap.c0..., %wrap.stop, placeholders...): a while_loop with one
//             iteration, that carries the results and the states of random numbers
//
// The graph keeps its placeholders, names and calls; its updates and gradients are results. Errors
// (user): what a subgraph can't have, such as placeholders with strides.
#pragma once
#include "ir/graph.h"
#include "ir/op_def.h"

namespace cleave::test {

Result<Graph> in_cond(const Graph& g, const OpRegistry& ops);
Result<Graph> in_loop(const Graph& g, const OpRegistry& ops);

}  // namespace cleave::test
