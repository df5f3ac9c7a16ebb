#include "pass/pre_grad/call_groups.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>

#include "pass/call_order.h"
#include "pass/pass_setting.h"

namespace cleave {
namespace {

struct Limits {
  size_t min_calls = 5, max_calls = 300;
  int64_t search_depth = 0;
  bool same_users = false, same_parent = false;
};

Limits limits_of(const std::vector<PassSetting>& s) {
  return {static_cast<size_t>(setting(s, "min_fuse_set_size")),
          static_cast<size_t>(setting(s, "max_fuse_set_size")), setting(s, "max_fuse_search_depth"),
          setting(s, "fuse_nodes_with_same_users") != 0,
          setting(s, "fuse_nodes_with_same_parent") != 0};
}

bool moves_data(const Node& node) {
  const std::string& name = node.op->name;
  return has(node.op->traits, Trait::view) || name == "stack" || name == "cat";
}

// Whether a result of a joint graph depends on each call; none of another graph.
std::vector<bool> calls_of_results(const Graph& g) {
  std::vector<bool> needed(g.node_capacity());
  if (!g.is_joint()) return needed;
  const auto need = [&](ValueId v) {
    if (v.valid() && g.value(v).def.valid()) needed[g.value(v).def.v] = true;
  };
  for (const Return& r : g.returns())
    if (r.kind == ReturnKind::result) need(r.value);
  for (NodeId n = g.last_node(); n.valid(); n = g.prev_node(n))
    if (needed[n.v]) std::ranges::for_each(g.node(n).inputs, need);
  return needed;
}

// Sets of calls that are joined.
class CallSets {
 public:
  explicit CallSets(size_t calls) : parent_(calls) {
    for (size_t k = 0; k < calls; ++k) parent_[k] = static_cast<uint32_t>(k);
  }
  uint32_t find(uint32_t n) {
    while (parent_[n] != n) n = parent_[n] = parent_[parent_[n]];
    return n;
  }
  void join(uint32_t a, uint32_t b) {
    parent_[std::max(find(a), find(b))] = std::min(find(a), find(b));
  }

 private:
  std::vector<uint32_t> parent_;
};

class Finder {
 public:
  Finder(const Graph& graph, const GroupKey& key, const Limits& limits)
      : graph_(graph), key_(key), limits_(limits), is_returned_(returned_values(graph)) {}

  // Returns the groups in the order of their first calls.
  std::vector<CallGroup> groups() const {
    const std::vector<std::string> keys = all_keys();
    std::optional<CallSets> near;
    if (limits_.search_depth > 0) near = calls_near(keys);
    std::map<std::string, size_t> at;
    std::vector<CallGroup> open, out;
    for (NodeId n = graph_.first_node(); n.valid(); n = graph_.next_node(n)) {
      if (keys[n.v].empty()) continue;
      std::string key = keys[n.v];
      if (near) key += fmt::format(" near {}", near->find(n.v));
      const auto [it, is_new] = at.try_emplace(std::move(key), open.size());
      if (is_new) open.emplace_back();
      CallGroup& group = open[it->second];
      group.push_back(n);
      if (group.size() < limits_.max_calls) continue;
      if (group.size() >= limits_.min_calls) out.push_back(std::move(group));
      group.clear();
    }
    for (CallGroup& group : open)
      if (group.size() >= limits_.min_calls) out.push_back(std::move(group));
    return out;
  }

 private:
  // By call: what it shares with the others of its group; empty where it has none.
  std::vector<std::string> all_keys() const {
    const std::vector<int64_t> depth = call_depths(graph_);
    const std::vector<bool> of_result = calls_of_results(graph_);
    std::vector<std::string> keys(graph_.node_capacity());
    for (NodeId n = graph_.first_node(); n.valid(); n = graph_.next_node(n)) {
      std::string& key = keys[n.v];
      key = key_(graph_.view(n));
      if (key.empty()) continue;
      if (!fits(n)) {
        key.clear();
        continue;
      }
      const CheckpointTag& tag = graph_.node(n).tag;
      key += fmt::format(" {} {} {} {}", depth[n.v], static_cast<int>(tag.policy), tag.ac_graph,
                         of_result[n.v] ? "result" : "");
      if (limits_.same_users) key += users_of(n);
      if (limits_.same_parent) key += parents_of(n);
    }
    return keys;
  }

  std::string users_of(NodeId n) const {
    std::string out = " read by";
    for (const Use& use : graph_.uses(graph_.node(n).out(0)))
      out += " " + graph_.node(use.node).op->name;
    return out;
  }

  // What the operands are views or parts of.
  std::string parents_of(NodeId n) const {
    std::string out = " reads";
    for (ValueId v : graph_.node(n).inputs) {
      while (v.valid() && graph_.value(v).def.valid() &&
             has(graph_.node(graph_.value(v).def).op->traits, Trait::view))
        v = graph_.node(graph_.value(v).def).inputs[0];
      out += fmt::format(" {}", v.v);
    }
    return out;
  }

  // Joins the calls of one key that a reader finds within the depth, not looking past any that has
  // a key.
  CallSets calls_near(const std::vector<std::string>& keys) const {
    CallSets near(graph_.node_capacity());
    for (NodeId reader = graph_.first_node(); reader.valid(); reader = graph_.next_node(reader)) {
      std::map<std::string_view, NodeId> found;
      std::set<NodeId> seen, level{reader};
      for (int64_t depth = 0; depth < limits_.search_depth && !level.empty(); ++depth) {
        std::set<NodeId> next;
        for (const NodeId n : level)
          for (const ValueId v : graph_.node(n).inputs) {
            const NodeId def = v.valid() ? graph_.value(v).def : NodeId();
            if (!def.valid() || !seen.insert(def).second) continue;
            if (keys[def.v].empty())
              next.insert(def);
            else
              near.join(found.try_emplace(keys[def.v], def).first->second.v, def.v);
          }
        level = std::move(next);
      }
    }
    return near;
  }

  bool fits(NodeId n) const {
    const Node& node = graph_.node(n);
    if (has(node.op->traits, Trait::random)) return false;
    if (graph_.type(node.out(0)).strides) return false;
    for (uint32_t k = 1; k < node.output_count; ++k)
      if (graph_.use_count(node.out(k)) > 0 || is_returned_[node.out(k).v]) return false;
    return true;
  }

  const Graph& graph_;
  const GroupKey& key_;
  const Limits limits_;
  const std::vector<bool> is_returned_;
};

}  // namespace

std::vector<PassSetting> group_settings() {
  return {
      {"min_fuse_set_size", 5, 2, "calls of a group, at least"},
      {"max_fuse_set_size", 300, 2, "calls of a group, at most; groups of one shape form another"},
      {"max_fuse_search_depth", 0, 0, "of calls above one reader; 0: calls anywhere"},
      {"fuse_nodes_with_same_users", 0, 0, "1: calls that equal operators read"},
      {"fuse_nodes_with_same_parent", 0, 0, "1: calls whose operands are views of one value"}};
}

std::vector<int64_t> call_depths(const Graph& g) {
  std::vector<int64_t> depth(g.node_capacity());
  for (NodeId n = g.first_node(); n.valid(); n = g.next_node(n)) {
    const Node& node = g.node(n);
    int64_t& d = depth[n.v];
    for (const ValueId v : node.inputs)
      if (v.valid())
        if (const NodeId def = g.value(v).def; def.valid()) d = std::max(d, depth[def.v]);
    if (!moves_data(node)) ++d;
  }
  return depth;
}

std::vector<CallGroup> call_groups(const Graph& graph, const GroupKey& key,
                                   const std::vector<PassSetting>& settings) {
  return Finder(graph, key, limits_of(settings)).groups();
}

}  // namespace cleave
