// A joint graph in two, as values of the host program.
#include "cleave/partition.h"

#include "compilers/partitioner.h"
#include "compilers/traced_graph.h"

namespace cleave {

PartitionedGraph partition(const TracedGraph& joint, const Partitioner& partitioner) {
  const auto& [given, ops] = joint.state();
  if (!given.is_joint())
    throw_failure(user_error("partition: @{} is no joint graph: it has no tangent and no gradient",
                             given.name()));
  Graph g = given;
  Partition cut = value_or_throw(partitioner.state().cut(g, ops));
  PartitionedGraph out{traced_graph(std::move(cut.forward), ops),
                       traced_graph(std::move(cut.backward), ops),
                       {},
                       {}};
  for (SavedValue& v : cut.saved)
    out.saved.push_back({std::move(v.name), v.bytes, v.placeholder, std::move(v.why)});
  for (RecomputedValue& v : cut.recomputed) out.recomputed.push_back(std::move(v.name));
  return out;
}

}  // namespace cleave
