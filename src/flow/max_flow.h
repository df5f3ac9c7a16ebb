// Maximum flow and both extreme minimum cuts of a network whose capacities may change in between.
//
//   MaxFlow flow = ...make(network);
//   flow.solve();                       the first from nothing, later ones from the flow before
//   flow.value(), flow.source_side(Nearest::sink), flow.flow()
//   flow.set_arc(3, 17); flow.solve();  again
//
// A capacity that falls below what flows leaves the surplus at the arc's tail and the lack at its
// head; the next solve sends both where they belong. The solver is SearchTrees.
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

  // Below: what the last solve found; not to be asked for before it, or after a change.
  Capacity value() const;
  std::vector<uint8_t> source_side(Nearest nearest) const;
  // A flow of that value within all capacities. Where solve left surplus on the way, this is a flow
  // problem of its own.
  Flow flow() const;
  int64_t paths() const { return trees_.paths(); }  // that the last solve needed

 private:
  explicit MaxFlow(Network network);
  void load();
  Status change(Capacity& held, Capacity capacity);

  Network network_;
  Capacity finite_sum_ = 0;
  Capacity routed_ = 0;   // bounds what the residuals hold, over all solves since load
  Capacity surplus_ = 0;  // taken from arcs since the last solve
  SearchTrees<Capacity> trees_;
};

}  // namespace cleave::flow
