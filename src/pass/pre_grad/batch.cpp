#include "pass/pre_grad/batch.h"

#include <algorithm>
#include <map>

#include "ir/edit.h"
#include "pass/call_order.h"

namespace cleave {
namespace {

constexpr size_t min_calls = 5, max_calls = 300;

using Group = std::vector<NodeId>;

bool moves_data(const Node& node) {
  const std::string& name = node.op->name;
  return has(node.op->traits, Trait::view) || name == "stack" || name == "cat";
}

// The number of computing calls on the longest path to each call, including the call.
std::vector<int64_t> depths(const Graph& g) {
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

class Batcher {
 public:
  Batcher(Graph& graph, const OpRegistry& ops, const BatchKind& kind)
      : graph_(graph), ops_(ops), kind_(kind), is_returned_(graph.value_capacity()) {
    for (const Return& r : graph.returns()) is_returned_[r.value.v] = true;
  }

  // Returns the groups in the order of their first calls.
  std::vector<Group> groups() const {
    const std::vector<int64_t> depth = depths(graph_);
    std::map<std::string, size_t> at;
    std::vector<Group> open, out;
    for (NodeId n = graph_.first_node(); n.valid(); n = graph_.next_node(n)) {
      std::string key = kind_.key(graph_.view(n));
      if (key.empty() || !fits(n)) continue;
      const CheckpointTag& tag = graph_.node(n).tag;
      key += fmt::format(" {} {} {}", depth[n.v], static_cast<int>(tag.policy), tag.ac_graph);
      const auto [it, is_new] = at.try_emplace(std::move(key), open.size());
      if (is_new) open.emplace_back();
      Group& group = open[it->second];
      group.push_back(n);
      if (group.size() < max_calls) continue;
      out.push_back(std::move(group));
      group.clear();
    }
    for (Group& group : open)
      if (group.size() >= min_calls) out.push_back(std::move(group));
    return out;
  }

  Status merge(const Group& group) {
    std::vector<OpView> calls;
    for (const NodeId n : group) calls.push_back(graph_.view(n));
    const Node& first = graph_.node(group[0]);
    Builder b(graph_, ops_);
    b.insert_before(group[0]);
    b.set_loc(first.loc);
    b.set_tag(first.tag);
    const Values values = kind_.build(b, calls);
    CLEAVE_CHECK(b.status());
    is_returned_.resize(graph_.value_capacity());
    for (size_t k = 0; k < group.size(); ++k) {
      const ValueId old = graph_.node(group[k]).out(0);
      const std::string name = graph_.name(old);
      is_returned_[values[k].v] = is_returned_[old.v];
      graph_.replace_uses(old, values[k]);
      graph_.erase(group[k]);
      CLEAVE_CHECK(graph_.rename(values[k], name));
    }
    return {};
  }

 private:
  bool fits(NodeId n) const {
    const Node& node = graph_.node(n);
    if (has(node.op->traits, Trait::random)) return false;
    if (graph_.type(node.out(0)).strides) return false;
    for (uint32_t k = 1; k < node.output_count; ++k)
      if (graph_.use_count(node.out(k)) > 0 || is_returned_[node.out(k).v]) return false;
    return true;
  }

  Graph& graph_;
  const OpRegistry& ops_;
  const BatchKind& kind_;
  std::vector<bool> is_returned_;
};

Result<PassCount> batch_calls(Graph& graph, const OpRegistry& ops, const BatchKind& kind) {
  PassCount count;
  if (has_effect(graph)) return count;
  Batcher batcher(graph, ops, kind);
  for (std::vector<Group> groups = batcher.groups(); !groups.empty(); groups = batcher.groups()) {
    for (const Group& group : groups) {
      CLEAVE_CHECK(batcher.merge(group));
      ++count.matches;
      count.nodes += std::ssize(group);
    }
    CLEAVE_CHECK(sort_topologically(graph));
  }
  return count;
}

}  // namespace

Pass batch_pass(std::string name, std::string summary, BatchKind kind, bool rounds) {
  return {.name = std::move(name),
          .summary = std::move(summary),
          .run = [kind = std::move(kind)](
                     Graph& g, const OpRegistry& ops) { return batch_calls(g, ops, kind); },
          .rounds = rounds};
}

std::string type_key(const OpView& call, int k) { return call.in_type(k).text(); }

ValueId stacked(Builder& b, const std::vector<OpView>& calls, int k) {
  Values values;
  for (const OpView& call : calls) values.push_back(call.in(k));
  return b.call1("stack", {values}, {{"dim", 0}});
}

Values unstacked(Builder& b, ValueId batch) { return b.call("unbind", {batch}, {{"dim", 0}}); }

}  // namespace cleave
