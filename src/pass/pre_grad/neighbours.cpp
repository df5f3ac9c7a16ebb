#include "pass/pre_grad/neighbours.h"

#include <algorithm>
#include <ranges>

#include "pass/call_order.h"

namespace cleave {
namespace {

// Moves each call of the group behind the one before it, and what it needs before the first.
// Returns whether any has moved. Calls of a group have one depth, so none needs another, or what
// reads one.
bool gather(Graph& g, CallGroup group) {
  std::ranges::sort(group, {}, [at = positions(g)](NodeId n) { return at[n.v]; });
  const NodeId first = group[0];
  std::vector<bool> needed(g.node_capacity()), in_group(g.node_capacity());
  for (const NodeId n : group) in_group[n.v] = needed[n.v] = true;
  std::vector<NodeId> others;  // that are needed, the last one first
  for (NodeId n = group.back(); n != first; n = g.prev_node(n)) {
    if (!needed[n.v]) continue;
    for (const ValueId v : g.node(n).inputs)
      if (v.valid() && g.value(v).def.valid()) needed[g.value(v).def.v] = true;
    if (!in_group[n.v]) others.push_back(n);
  }
  bool has_moved = !others.empty();
  for (const NodeId n : others | std::views::reverse) g.move_before(n, first);
  NodeId next = g.next_node(first);
  for (size_t k = 1; k < group.size(); ++k) {
    if (group[k] == next) {
      next = g.next_node(next);
      continue;
    }
    g.move_before(group[k], next);
    has_moved = true;
  }
  return has_moved;
}

// Groups of greater depth come first: a group moves only calls of less depth than its own.
PassCount gather_all(Graph& graph, const GroupKey& key, const std::vector<PassSetting>& settings) {
  PassCount count;
  if (has_effect(graph)) return count;
  std::vector<CallGroup> groups = call_groups(graph, key, settings);
  const std::vector<int64_t> depth = call_depths(graph);
  std::ranges::stable_sort(groups, std::greater(),
                           [&](const CallGroup& group) { return depth[group[0].v]; });
  for (const CallGroup& group : groups)
    if (gather(graph, group)) {
      ++count.matches;
      count.nodes += std::ssize(group);
    }
  return count;
}

}  // namespace

Pass neighbour_pass(std::string name, std::string summary, std::vector<PassSetting> more,
                    std::function<GroupKey(const std::vector<PassSetting>&)> make_key) {
  Pass pass{.name = std::move(name), .summary = std::move(summary)};
  pass.settings = group_settings();
  pass.settings.insert(pass.settings.end(), more.begin(), more.end());
  pass.make_run = [make_key =
                       std::move(make_key)](const std::vector<PassSetting>& settings) -> Pass::Run {
    return [key = make_key(settings), settings](Graph& g, const OpRegistry&) -> Result<PassCount> {
      return gather_all(g, key, settings);
    };
  };
  pass.run = pass.make_run(pass.settings);
  return pass;
}

}  // namespace cleave
