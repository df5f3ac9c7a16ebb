// Compares one random graph before and after all passes, by the oracle.
#pragma once
#include "pass/pipeline.h"
#include "test/sample/pass_instance.h"

namespace cleave::random {

// A random forward graph, every fifth one in mixed precision, every fourth one with strides, every
// seventh one on a device, with some constructors on the CPU.
Result<RandomGraph> pass_graph(const OpRegistry& ops, uint64_t seed);

// Runs all stages of passes, each verified. Returns the number of matches.
Result<int64_t> run_all_stages(Graph& g, const OpRegistry& ops, const CompileOptions& options);

// As a program is compiled: pre_grad, gradients where `seed` is odd (each eighth before pre_grad,
// as an imported joint graph), the other stages; against the graph and its gradients without any
// pass. Strict runs change nothing but constants of f32, which the oracle keeps unrounded. `wrong`
// holds both graphs.
Result<PassVerdict> check_passes(const OpRegistry& ops, uint64_t seed,
                                 const CompileOptions& options);

}  // namespace cleave::random
