// The partition of PyTorch's min-cut partitioner, rule by rule: for comparison, and for users who
// come from PyTorch.
//
//   budget 1        the minimum cut with all bans (pytorch_min_cut.h)
//   0 < budget < 1  the first of three cuts whose saved bytes are below the budget:
//                     1. the one of budget 1
//                     2. without used_far_apart, long_fusible_chains, materialized_backward
//                     3. also without not_in_allowlist
//                   if none is: a knapsack over the calls that cut 3 bans (bytes against run time)
//                   chooses which are saved; in a fourth cut the others may run again
//   budget 0        the inputs alone
//
// Whatever the budget and the tags, results of collectives and of calls with effects are saved
// where the backward needs them: these calls run once.
//
// The budget is PyTorch's: a fraction of the bytes that cut 1 saves beyond the inputs. It doesn't
// bound the peak; mode exact does.
//
// Source: choose_saved_values_set of torch/_functorch/partitioners.py, PyTorch 2.13.
#pragma once
#include <functional>

#include "cut/knapsack.h"
#include "cut/partition.h"
#include "cut/pytorch_min_cut.h"

namespace cleave {

enum class RuntimeEstimator : uint8_t {
  flops,    // pytorch_flops, at least 1
  testing,  // 1
  profile   // PytorchOptions::measure
};

struct PytorchOptions {
  double budget = 1;  // in [0, 1]
  KnapsackSolver solver = KnapsackSolver::dp;
  RuntimeEstimator estimator = RuntimeEstimator::flops;
  std::function<Result<int64_t>(const Graph&, NodeId)> measure = {};  // ns of a call
  PytorchBans bans = {};
  bool aggressive = false;  // as if the first four rules of `bans` were off
};

// What PyTorch does before partitioning: removes dead calls, then merges equal ones except `empty`,
// attention, and values that share memory with a returned value (fx_graph_cse of compile_utils.py).
// Errors: those of JointView.
Status simplify_as_pytorch(Graph& joint);

// `joint` is a result of make_joint. Errors (user): a budget outside of [0, 1], and those of
// JointView and pytorch_min_cut.
Result<Partition> pytorch_partition(const Graph& joint, const PytorchOptions& options);

}  // namespace cleave
