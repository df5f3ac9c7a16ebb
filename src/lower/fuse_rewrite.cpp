#include "lower/fuse_rewrite.h"

#include <algorithm>
#include <unordered_map>

#include "ir/edit.h"
#include "lower/fuse_body.h"

namespace cleave {
namespace {

// The groups that are fused, in the order in which they run.
std::vector<int32_t> by_position(const FuseCalls& calls, const FuseGroups& groups) {
  std::vector<int32_t> out;
  for (size_t i = 0; i < groups.all.size(); ++i)
    if (const auto g = static_cast<int32_t>(i);
        groups.all[i].merged_into < 0 && groups.is_fusible(calls, g))
      out.push_back(g);
  std::ranges::stable_sort(out, {}, [&](int32_t g) { return calls[groups.all[g].at].position; });
  return out;
}

// A view none of whose results is returned.
bool is_inner_view(const Graph& g, const FuseCalls& calls, NodeId n) {
  if (!calls.knows(n) || calls[n].kind != FuseCall::Kind::view) return false;
  for (uint32_t k = 0; k < g.node(n).output_count; ++k)
    if (calls.returned[g.node(n).out(k).v]) return false;
  return true;
}

// The nodes in order, each after its operands; a view moves to its first reader.
std::vector<NodeId> sorted_nodes(const Graph& g, const FuseCalls& calls) {
  std::vector<NodeId> out;
  std::vector<bool> done(g.node_capacity()), opened(g.node_capacity());
  for (NodeId root = g.first_node(); root.valid(); root = g.next_node(root)) {
    if (is_inner_view(g, calls, root)) continue;
    std::vector<NodeId> open = {root};
    while (!open.empty()) {
      const NodeId n = open.back();
      if (done[n.v]) {
        open.pop_back();
        continue;
      }
      if (opened[n.v]) {
        open.pop_back();
        done[n.v] = true;
        out.push_back(n);
        continue;
      }
      opened[n.v] = true;
      const Node& node = g.node(n);
      for (size_t i = node.inputs.size(); i-- > 0;)
        if (node.inputs[i].valid())
          if (const NodeId d = g.value(node.inputs[i]).def; d.valid() && !done[d.v])
            open.push_back(d);
    }
  }
  return out;
}

class Rewriter {
 public:
  Rewriter(Graph& graph, const FuseCalls& calls, const FuseGroups& groups, const OpDef& fused,
           std::set<std::string>& taken)
      : g_(graph), calls_(calls), groups_(groups), fused_(fused), taken_(taken) {}

  Status run() {
    // The old calls stay until all groups are written.
    for (const int32_t group : by_position(calls_, groups_)) {
      const FuseBody body = body_of(g_, calls_, groups_, group);
      if (!is_worth_fusing(body)) continue;
      CLEAVE_CHECK(write(groups_.all[group], body));
    }
    std::vector<std::string> names;
    for (const ValueId v : replaced_) {
      names.push_back(g_.name(v));
      g_.replace_uses(v, current(v));
    }
    eliminate_dead_code(g_);
    CLEAVE_CHECK(g_.reorder(sorted_nodes(g_, calls_)));
    for (size_t k = 0; k < names.size(); ++k)
      if (!g_.find(names[k]).valid()) CLEAVE_CHECK(g_.rename(current(replaced_[k]), names[k]));
    return {};
  }

 private:
  Status write(const FuseGroup& group, const FuseBody& body) {
    Graph inner(fresh_name(g_.name(body.results[0])));
    std::unordered_map<uint32_t, ValueId> map;
    NodeSpec spec;
    spec.op = &fused_;
    for (const ValueId v : body.operands) {
      Type type(g_.type(v).dtype, g_.type(v).shape);
      type.device = g_.type(v).device;
      CLEAVE_TRY(map[v.v], inner.add_placeholder(Role::input, g_.name(v), std::move(type)));
      spec.inputs.push_back(current(v));
    }
    spec.list_size = static_cast<uint32_t>(spec.inputs.size());
    CLEAVE_CHECK(copy_nodes(g_, body.nodes, inner, map));
    for (const ValueId v : body.results) inner.add_return({map.at(v.v)});
    spec.loc = g_.node(group.nodes[0]).loc;
    spec.before = group.at;
    const int arg = fused_.schema.find("body");
    spec.attrs.set(static_cast<uint16_t>(arg),
                   GraphRef(std::make_shared<const Graph>(std::move(inner))));
    CLEAVE_TRY(const NodeId made, g_.add_node(std::move(spec)));
    for (size_t k = 0; k < body.results.size(); ++k) {
      now_[body.results[k].v] = g_.node(made).out(static_cast<uint32_t>(k));
      replaced_.push_back(body.results[k]);
    }
    return {};
  }

  ValueId current(ValueId v) const {
    const auto it = now_.find(v.v);
    return it == now_.end() ? v : it->second;
  }

  std::string fresh_name(const std::string& stem) {
    std::string name = fmt::format("{}.{}", g_.name(), stem);
    while (!taken_.insert(name).second) name += "_1";
    return name;
  }

  Graph& g_;
  const FuseCalls& calls_;
  const FuseGroups& groups_;
  const OpDef& fused_;
  std::set<std::string>& taken_;               // names of graphs
  std::vector<ValueId> replaced_;              // in order
  std::unordered_map<uint32_t, ValueId> now_;  // what replaces them
};

}  // namespace

Status rewrite_groups(Graph& graph, const FuseCalls& calls, const FuseGroups& groups,
                      const OpDef& fused, std::set<std::string>& taken) {
  return Rewriter(graph, calls, groups, fused, taken).run();
}

}  // namespace cleave
