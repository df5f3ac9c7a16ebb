// The options of PyTorch's partitioner, which decides what of the forward the backward reads from
// memory and what it computes again (doc/partition.md).
//
//   CompileOptions options{.partition = PytorchOptions{.budget = 0.5}};
//   aot_function(f, specs, {.partition = Partitioner::pytorch({.bans = {.reductions = false}})});
//
// Each has the meaning of a setting of torch._functorch.config, PyTorch 2.13.
#pragma once
#include <cstdint>

namespace cleave {

// How the calls are chosen whose results are kept within a budget.
enum class KnapsackSolver : uint8_t {
  // PyTorch's: memory in quanta of range / 10,000, rounded to the nearest (half to even), which is
  // fast and nearly exact. Where rounding would let the kept items exceed the capacity, the quanta
  // are rounded up instead. O(items * quanta).
  dp,
  // In the order of falling value / memory, each item that still fits. O(n log n).
  greedy,
  // Exact, without quanta: the Pareto-optimal states of memory and value, pruned by a bound on what
  // the remaining items can add (Nemhauser, Ullmann 1969; Horowitz, Sahni 1974).
  ilp,
};

// What running a call again takes.
enum class RuntimeEstimator : uint8_t {
  flops,    // of products, convolutions and attention; 1 of all others
  testing,  // 1
  profile,  // measured, by `cleave partition` alone: nothing is timed while a program is compiled
};

// Which rules keep a call of the forward from running again. None is about views, floating symbols
// and lift_fresh_copy.
struct PytorchBans {
  // A fusible reader of a value that comes after the first call that doesn't fuse with the value's
  // readers: it isn't expected to share a kernel with the nearer ones.
  bool used_far_apart = true;
  // The call at which a chain of fusible calls gets longer than 100.
  bool long_fusible_chains = true;
  // A value that a call of the backward reads and doesn't fuse with: it is in memory there anyway.
  bool materialized_backward = true;
  // Operators outside of the list of recomputable ones. Off: random and compute-intensive ones.
  bool not_in_allowlist = true;
  // A result of less than a quarter of its arguments' bytes.
  bool reductions = true;

  bool recompute_views = false;     // views are never saved, and may always run again
  bool parameters_are_free = true;  // saving a parameter costs nothing; false: PyTorch of 2024
  int32_t max_distance = 1000;      // from the backward; nodes farther away are banned

  friend bool operator==(const PytorchBans&, const PytorchBans&) = default;
};

struct PytorchOptions {
  double budget = 1;  // in [0, 1]; a call's tag memory_budget counts in its place
  KnapsackSolver solver = KnapsackSolver::dp;
  RuntimeEstimator estimator = RuntimeEstimator::flops;
  PytorchBans bans = {};
  bool aggressive = false;  // as if the first four rules of `bans` were off

  friend bool operator==(const PytorchOptions&, const PytorchOptions&) = default;
};

}  // namespace cleave
