// Joint graphs, and their halves, as values of the host program.
#include "cleave/partition.h"

#include <algorithm>

#include "compilers/partitioner.h"
#include "compilers/traced_graph.h"
#include "grad/grad.h"

namespace cleave {
namespace {

// Of the graph's placeholders these want a gradient, and no others.
Status mark_wanted(Graph& g, const std::vector<std::string>& names) {
  for (size_t k = 0; k < g.placeholders().size(); ++k) g.placeholder(k).wants_grad = false;
  for (const std::string& name : names) {
    const ValueId v = g.find(name);
    if (!v.valid() || g.placeholder_of(v) == nullptr)
      return user_error("joint_graph: @{} has no input {}", g.name(), name);
    if (!is_floating(g.type(v).dtype))
      return user_error("joint_graph: %{} is {}, which has no gradient", name, g.type(v).text());
    g.placeholder(g.value(v).index).wants_grad = true;
  }
  return {};
}

}  // namespace

TracedGraph joint_graph(const TracedGraph& forward, const std::vector<std::string>& wants_grad) {
  const auto& [given, ops] = forward.state();
  if (given.is_joint())
    throw_failure(user_error("joint_graph: @{} is a joint graph already", given.name()));
  Graph g = given;
  if (!wants_grad.empty()) value_or_throw(mark_wanted(g, wants_grad));
  if (std::ranges::none_of(g.placeholders(), &Placeholder::wants_grad))
    throw_failure(
        user_error("joint_graph: nothing of @{} wants a gradient: name the inputs", g.name()));
  return traced_graph(value_or_throw(make_joint(g, ops.registry())), ops);
}

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
