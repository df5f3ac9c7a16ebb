// The joint graph of a forward one, and a joint graph cut in two.
//
//   TracedGraph joint = joint_graph(forward, {"w"});
//   PartitionedGraph p = partition(joint, Partitioner::exact(64 << 20));
//   for (const KeptValue& v : p.saved) std::cout << v.name << ' ' << v.bytes << ' ' << v.why;
//
// The forward returns the results and updates of the joint graph, then the saved values; the
// backward takes these, then the tangents, and returns the gradients.
#pragma once
#include <string>
#include <vector>

#include "cleave/partitioner.h"

namespace cleave {

// The forward with its backward behind it: a tangent for each floating result is an input, in
// order, and a gradient a result for each input in `wants_grad`, by default those that bear `grad`.
// Errors (user): it is a joint graph already, nothing wants a gradient, an input that isn't there
// or not floating; (unsupported): an operator between them has no gradient.
CLEAVE_API TracedGraph joint_graph(const TracedGraph& forward,
                                   const std::vector<std::string>& wants_grad = {});

struct KeptValue {
  std::string name;       // of the joint graph's value
  int64_t bytes = 0;      // with sizes that vary at their hints
  bool is_input = false;  // of the joint graph
  std::string why;
};

struct PartitionedGraph {
  TracedGraph forward, backward;
  std::vector<KeptValue> saved;
  std::vector<std::string> recomputed;
};

// Errors (user): the graph is no joint graph; no cut is within the partitioner's budget, with the
// least peak found and a bound that no cut is below; what an own partitioner throws.
CLEAVE_API PartitionedGraph partition(const TracedGraph& joint, const Partitioner& partitioner);

}  // namespace cleave
