#include "schedule/value_sources.h"

namespace cleave {

ValueSources::ValueSources(const Graph& graph, const std::vector<NodeId>& nodes) : graph_(graph) {
  for (const NodeId n : nodes) {
    nodes_.insert(n.v);
    for (const ValueId v : graph.node(n).inputs)
      if (v.valid()) ++uses_[v.v];
  }
}

bool ValueSources::is_shared(ValueId v) const {
  const auto it = uses_.find(v.v);
  return it != uses_.end() && it->second > 1;
}

NodeId ValueSources::call(ValueId v) const {
  const NodeId n = graph_.value(v).def;
  return n.valid() && nodes_.contains(n.v) && !outside_.contains(v.v) ? n : NodeId{};
}

const ValueSources::Folded* ValueSources::folded(ValueId v) const {
  const auto it = folded_.find(v.v);
  return it == folded_.end() ? nullptr : &it->second;
}

const ValueSources::Kept* ValueSources::kept(ValueId v) const {
  const auto it = kept_.find(v.v);
  return it == kept_.end() ? nullptr : &it->second;
}

const ValueSources::KeptRow* ValueSources::kept_row(ValueId v) const {
  const auto it = kept_rows_.find(v.v);
  return it == kept_rows_.end() ? nullptr : &it->second;
}

}  // namespace cleave
