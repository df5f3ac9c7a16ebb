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
// bound the peak; mode exact does. The first call with a tag memory_budget decides for the whole
// graph, as PyTorch's node meta of that name.
//
// Source: choose_saved_values_set of torch/_functorch/partitioners.py, PyTorch 2.13.
#pragma once
#include <functional>

#include "cut/knapsack.h"
#include "cut/partition.h"
#include "cut/pytorch_min_cut.h"

namespace cleave {

// The time of a call, in ns, for the estimator profile.
using MeasureCall = std::function<Result<int64_t>(const Graph&, NodeId)>;

// What PyTorch does before partitioning: removes dead calls but random ones, then merges equal ones
// except `empty`,
// attention, and values that share memory with a returned value (fx_graph_cse of compile_utils.py).
void simplify_as_pytorch(Graph& joint);

// The network of a partition that fails because a value can be neither saved nor computed; nullopt:
// it has a finite cut. Errors: those of JointView.
Result<std::optional<flow::FailedNetwork>> pytorch_conflict(const Graph& joint,
                                                            const PytorchOptions& options);

// How the answer came about: its bans, and, where a knapsack decided, what that chose from.
struct PytorchAccount {
  enum class Step : uint8_t { inputs_alone, first, second, third, must_save_alone, knapsack };
  struct Item {
    std::string name;  // of the call's first result
    int64_t bytes = 0;
    int64_t runtime = 0;  // by the estimator
    bool kept = false;    // saved; else the call may run again
  };
  Step step = Step::first;
  std::vector<std::pair<std::string, int64_t>> bans;  // by rule: banned calls; most calls first
  int64_t range_bytes = 0;                            // what a budget of 1 is; 0: no budget counts
  int64_t capacity_bytes = 0;                         // of the knapsack
  std::vector<Item> items;                            // of the knapsack, by falling bytes
};
std::string_view name_of(PytorchAccount::Step step);

// `joint` is a result of make_joint. Errors (user): a budget outside of [0, 1], and those of
// JointView and pytorch_min_cut.
Result<Partition> pytorch_partition(const Graph& joint, const PytorchOptions& options,
                                    PytorchAccount* account = nullptr,
                                    const MeasureCall& measure = {});

// The same for a program without tangents, such as a training step, whose forward is
// forward_calls(g, results): the calls after it are its backward, and none of them is saved for
// another. What is to run again is copied in front of its first reader there (repeat_calls.h).
// Returns how many calls are.
Result<int64_t> repeat_as_pytorch(Graph& g, size_t results, const PytorchOptions& options);

}  // namespace cleave
