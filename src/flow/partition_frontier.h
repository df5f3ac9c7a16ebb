// The best choices of a forward graph for all prices: the frontier of its network, in the graph's
// own bytes and costs, and a lower bound of the cost between its corners.
//
// Cost: build_partition_network and find_frontier; a corner's choice is O(calls + operands +
// values).
#pragma once
#include <optional>

#include "flow/frontier.h"
#include "flow/partition_network.h"

namespace cleave::flow {

class PartitionFrontier {
 public:
  struct Corner {
    int64_t bytes = 0, cost = 0;
    Price price;  // the corner is optimal from this price on, up to that of the next corner
  };
  // Errors: as build_partition_network.
  static Result<PartitionFrontier> make(const ForwardGraph& graph);

  const std::vector<Corner>& corners() const { return corners_; }  // bytes fall, cost rises
  // By call: whether it is recomputed; the argument of choice_of.
  std::vector<uint8_t> recompute_at(size_t corner) const;
  // By call: recomputed from this corner on, or Frontier::never.
  const std::vector<int32_t>& corner_of_call() const { return corner_of_call_; }
  // No choice within `bytes` costs less than this, also between corners; nullopt if none fits.
  std::optional<int64_t> min_cost(int64_t bytes) const;

 private:
  std::vector<Corner> corners_;
  std::vector<int32_t> corner_of_call_;
};

}  // namespace cleave::flow
