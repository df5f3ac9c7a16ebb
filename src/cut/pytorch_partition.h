// The partition of PyTorch's min-cut partitioner, rule by rule: for comparison, and for those who
// come from there.
//
//   budget 1        its minimum cut, with every ban (pytorch_min_cut.h)
//   0 < budget < 1  the first of three choices whose saved bytes lie below the budget: that cut;
//                   without the bans on far, long and materialised values; without the list of
//                   recomputable operators; else a knapsack over the calls that the last one bans,
//                   whose time is worth saving, and a fourth cut in which the others may run again
//   budget 0        the inputs alone
//
// Whatever the budget and the tags, what collectives and calls with effects give is saved where the
// backward needs it: they run once.
//
// The budget is PyTorch's: a part of the bytes that the first cut saves beyond the inputs. It does
// not bound the peak; mode exact does.
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
  bool aggressive = false;  // no bans but that on reductions
};

// What comes first: dead calls go, then equal ones become the first of them, but for `empty` and
// for what lies in the memory of something that is returned (fx_graph_cse of compile_utils.py).
// Errors: JointView's.
Status simplify_as_pytorch(Graph& joint);

// `joint` is what make_joint gives. Errors (user): a budget outside of [0, 1], and those of
// JointView and pytorch_min_cut.
Result<Partition> pytorch_partition(const Graph& joint, const PytorchOptions& options);

}  // namespace cleave
