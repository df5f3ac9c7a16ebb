// Maximum flow and both extreme minimum cuts of a network whose capacities may change in between.
//
//   MaxFlow flow = ...make(network);
//   flow.solve();                       from no flow
//   flow.value(), flow.source_side(Nearest::sink), flow.flow()
//   flow.set_arc(3, 17); flow.solve();  starts from the flow before
//
// When a capacity falls below an arc's flow, the difference becomes excess at its tail and deficit
// at its head, which the next solve routes. The solver is SearchTrees.
#pragma once
#include "flow/search_trees.h"

namespace cleave::flow {

class MaxFlow {
 public:
  // Errors (user): what check_network finds.
  static Result<MaxFlow> make(Network network);

  const Network& network() const { return network_; }
  // Errors (user): a negative capacity, or a finite sum of 2^60 or more; the old one then stays.
  Status set_source(int32_t n, Capacity capacity);
  Status set_sink(int32_t n, Capacity capacity);
  Status set_arc(int32_t a, Capacity capacity);

  // Errors (user): a path of infinite arcs leads from source to sink; find_infinite_path names it.
  Status solve();

  // Results of the last solve; not valid before the first one or after a change of a capacity.
  Capacity value() const;
  std::vector<uint8_t> source_side(Nearest nearest) const;
  // A feasible flow of that value. Where solve left excess at nodes, two more flow problems are
  // solved for it (settle_flow.h).
  Flow flow() const;
  int64_t paths() const { return trees_.paths(); }  // that the last solve needed

 private:
  explicit MaxFlow(Network network);
  void load();
  Status change(Capacity& held, Capacity capacity);

  Network network_;
  Capacity finite_sum_ = 0;
  Capacity routed_ = 0;   // an upper bound for the flow in any arc, over all solves since load
  Capacity surplus_ = 0;  // flow taken off arcs since the last solve
  SearchTrees<Capacity> trees_;
};

}  // namespace cleave::flow
