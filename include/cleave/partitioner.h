// How a joint graph is cut in two: which values the forward keeps for the backward.
//
//   aot_function(f, specs, {.partition = Partitioner::exact(MemoryBudget::percent(60))});
//   aot_function(f, specs, {.partition = Partitioner::own([](const TracedGraph& joint) {
//                  return std::vector<std::string>{"h"};          // the rest runs again
//                })});
#pragma once
#include <functional>
#include <string>
#include <vector>

#include "cleave/memory_budget.h"
#include "cleave/pytorch_options.h"
#include "cleave/traced_graph.h"

namespace cleave {

class CLEAVE_API Partitioner {
 public:
  // The names of the values of the joint graph that are kept; placeholders that the backward reads
  // are kept unasked, as is what must run once (collectives, effects). What else the backward reads
  // runs again.
  using Saved = std::function<std::vector<std::string>(const TracedGraph& joint)>;

  // Keeps each forward value that the backward reads. Source: default_partition, PyTorch 2.13.
  static Partitioner standard();
  // PyTorch's min-cut. Source: min_cut_rematerialization_partition.
  static Partitioner pytorch(const PytorchOptions& options);
  static Partitioner pytorch(double budget = 1) {
    return pytorch(PytorchOptions{.budget = budget});
  }
  // The cheapest cut whose two halves stay within the budget, in bytes of their true peak, or in
  // percent of what they need without one; without a budget, no more than that (doc/cut.md).
  static Partitioner exact(MemoryBudget budget = {});
  // Errors (user): a name that no value has, a value that depends on a tangent.
  static Partitioner own(Saved saved);

  struct State;
  explicit Partitioner(std::shared_ptr<const State> state) : state_(std::move(state)) {}
  const State& state() const { return *state_; }

 private:
  std::shared_ptr<const State> state_;
};

}  // namespace cleave
