#include "flow/partition_frontier.h"

#include <algorithm>

#include "flow/search_trees.h"

namespace cleave::flow {

Result<PartitionFrontier> PartitionFrontier::make(const ForwardGraph& graph) {
  CLEAVE_TRY(const PartitionNetwork net, build_partition_network(graph));
  CLEAVE_TRY(const Frontier frontier, find_frontier(net.trade));
  PartitionFrontier out;
  out.corner_of_call_.resize(graph.cost.size());
  for (size_t n = 0; n < graph.cost.size(); ++n) {
    const int32_t node = net.node_of_call[n];
    out.corner_of_call_[n] = node >= 0 ? frontier.corner[static_cast<size_t>(node)]
                             : node == PartitionNetwork::always ? 0
                                                                : Frontier::never;
  }
  const PartitionChoice first = choice_of(graph, out.recompute_at(0));
  Corner corner{first.bytes, first.cost, {0, 1}};
  out.corners_.push_back(corner);
  for (const Frontier::Segment& segment : frontier.segments) {
    corner = {corner.bytes - segment.bytes, corner.cost + segment.cost, segment.price};
    out.corners_.push_back(corner);
  }
  return out;
}

std::vector<uint8_t> PartitionFrontier::recompute_at(size_t corner) const {
  std::vector<uint8_t> recompute(corner_of_call_.size());
  for (size_t n = 0; n < recompute.size(); ++n)
    recompute[n] =
        corner_of_call_[n] != Frontier::never && corner_of_call_[n] <= static_cast<int32_t>(corner);
  return recompute;
}

std::optional<int64_t> PartitionFrontier::min_cost(int64_t bytes) const {
  const auto right = std::find_if(corners_.begin(), corners_.end(),
                                  [&](const Corner& c) { return c.bytes <= bytes; });
  if (right == corners_.end()) return std::nullopt;
  if (right == corners_.begin()) return right->cost;
  // On the chord between two corners; rounded up, since costs are integers.
  const Corner& left = *std::prev(right);
  const int128 width = left.bytes - right->bytes;
  const int128 risen = int128{right->cost - left.cost} * (left.bytes - bytes);
  return left.cost + static_cast<int64_t>((risen + width - 1) / width);
}

}  // namespace cleave::flow
