#include "lower/fuser.h"

#include <algorithm>

#include "ir/edit.h"
#include "schedule/group_check.h"

namespace cleave {

Status Fuser::rewrite(const OpDef& fused) {
  std::vector<int32_t> by_position;
  for (size_t g = 0; g < groups_.size(); ++g)
    if (!groups_[g].merged && is_group(static_cast<int32_t>(g)))
      by_position.push_back(static_cast<int32_t>(g));
  std::stable_sort(by_position.begin(), by_position.end(),
                   [&](int32_t a, int32_t b) { return position(a) < position(b); });
  // The old calls stay as they are until all are written.
  for (const int32_t g : by_position) {
    const Body body = body_of(g);
    if (body.kernels < 2 || body.results.empty()) continue;
    if (!check_group(g_, body.nodes, body.results).ok()) continue;
    CLEAVE_TRY(const NodeId made, write(fused, g, body));
    for (size_t k = 0; k < body.results.size(); ++k) {
      now_[body.results[k].v] = g_.node(made).out(static_cast<uint32_t>(k));
      replaced_.push_back(body.results[k]);
    }
  }
  std::vector<std::string> names;
  for (const ValueId v : replaced_) {
    names.push_back(g_.name(v));
    g_.replace_uses(v, current(v));
  }
  eliminate_dead_code(g_);
  CLEAVE_CHECK(g_.reorder(sorted()));
  for (size_t k = 0; k < names.size(); ++k)
    if (!g_.find(names[k]).valid()) CLEAVE_CHECK(g_.rename(current(replaced_[k]), names[k]));
  return {};
}

std::vector<NodeId> Fuser::sorted() const {
  std::vector<NodeId> out;
  std::vector<bool> done(g_.node_capacity()), opened(g_.node_capacity());
  for (NodeId root = g_.first_node(); root.valid(); root = g_.next_node(root)) {
    const bool is_view =
        root.v < calls_.size() && calls_[root.v].kind == Kind::view && !is_returned(root);
    if (is_view) continue;
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
      const Node& node = g_.node(n);
      for (size_t i = node.inputs.size(); i-- > 0;)
        if (node.inputs[i].valid())
          if (const NodeId d = g_.value(node.inputs[i]).def; d.valid() && !done[d.v])
            open.push_back(d);
    }
  }
  return out;
}

bool Fuser::is_returned(NodeId n) const {
  const Node& node = g_.node(n);
  for (uint32_t k = 0; k < node.output_count; ++k)
    if (returned_.contains(node.out(k).v)) return true;
  return false;
}

Fuser::Body Fuser::body_of(int32_t g) {
  Body out;
  std::map<int64_t, NodeId> nodes;
  std::vector<NodeId> open = groups_[g].nodes;
  std::unordered_map<uint32_t, bool> inside;
  while (!open.empty()) {
    const NodeId n = open.back();
    open.pop_back();
    if (!nodes.emplace(call(n).position, n).second) continue;
    inside[n.v] = true;
    for (const ValueId v : g_.node(n).inputs) {
      if (!v.valid()) continue;
      const NodeId d = g_.value(v).def;
      if (d.valid() && is_through(d)) open.push_back(d);
    }
  }
  for (const auto& [position, n] : nodes) {
    out.nodes.push_back(n);
    if (call(n).kind != Kind::view) ++out.kernels;
    const Node& node = g_.node(n);
    for (const ValueId v : node.inputs)
      if (v.valid() && !(g_.value(v).def.valid() && inside.contains(g_.value(v).def.v)))
        add(out.operands, v);
  }
  for (const NodeId n : groups_[g].nodes) {
    const Node& node = g_.node(n);
    for (uint32_t k = 0; k < node.output_count; ++k) {
      const ValueId v = node.out(k);
      if (is_read_outside(v, g)) out.results.push_back(v);
    }
  }
  return out;
}

bool Fuser::is_read_outside(ValueId v, int32_t g) {
  if (returned_.contains(v.v)) return true;
  for (const Use& u : g_.uses(v)) {
    if (u.node.v >= calls_.size()) continue;  // written in the place of one of those below
    const Call& c = call(u.node);
    if (is_through(u.node)) {
      const Node& node = g_.node(u.node);
      for (uint32_t k = 0; k < node.output_count; ++k)
        if (is_read_outside(node.out(k), g)) return true;
    } else if (find(c.group) != g) {
      return true;
    }
  }
  return false;
}

Result<NodeId> Fuser::write(const OpDef& fused, int32_t g, const Body& body) {
  Graph inner(fresh_name(g_.name(body.results[0])));
  std::unordered_map<uint32_t, ValueId> map;
  NodeSpec spec;
  spec.op = &fused;
  for (const ValueId v : body.operands) {
    Type type(g_.type(v).dtype, g_.type(v).shape);
    type.device = g_.type(v).device;
    CLEAVE_TRY(map[v.v], inner.add_placeholder(Role::input, g_.name(v), std::move(type)));
    spec.inputs.push_back(current(v));
  }
  spec.list_size = static_cast<uint32_t>(spec.inputs.size());
  CLEAVE_CHECK(copy_nodes(g_, body.nodes, inner, map));
  for (const ValueId v : body.results) inner.add_return({map.at(v.v)});
  spec.loc = g_.node(groups_[g].nodes[0]).loc;
  spec.before = groups_[g].at;
  const int arg = fused.schema.find("body");
  spec.attrs.set(static_cast<uint16_t>(arg),
                 GraphRef(std::make_shared<const Graph>(std::move(inner))));
  return g_.add_node(std::move(spec));
}

ValueId Fuser::current(ValueId v) const {
  const auto it = now_.find(v.v);
  return it == now_.end() ? v : it->second;
}

std::string Fuser::fresh_name(const std::string& stem) {
  std::string name = fmt::format("{}.{}", g_.name(), stem);
  while (!taken_.insert(name).second) name += "_1";
  return name;
}

}  // namespace cleave
