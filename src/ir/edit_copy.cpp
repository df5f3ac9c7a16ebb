// Copies nodes between graphs, and extracts the part that computes given values.
#include <algorithm>
#include <unordered_set>

#include "ir/edit.h"
#include "ir/subgraph.h"

namespace cleave {

namespace {

// The names of a node's results, made unique if they are in use in `to`.
std::vector<std::string> free_names(const Graph& from, const Node& node, Graph& to) {
  std::vector<std::string> names;
  std::unordered_set<std::string> mine;  // names of earlier results, not yet in `to`
  names.reserve(node.output_count);
  for (uint32_t k = 0; k < node.output_count; ++k) {
    std::string name = to.fresh_name(from.name(node.out(k)));
    if (node.output_count > 1)
      while (!mine.insert(name).second) name = to.fresh_name(name + "_1");
    names.push_back(std::move(name));
  }
  return names;
}

}  // namespace

Status repeat_call(Graph& g, NodeId n, NodeId before,
                   std::unordered_map<uint32_t, ValueId>& again) {
  const Node& node = g.node(n);
  NodeSpec spec{.op = node.op, .inputs = node.inputs, .list_size = node.list_size};
  spec.attrs = node.attrs;
  spec.loc = node.loc;
  spec.before = before;
  for (ValueId& in : spec.inputs)
    if (const auto it = again.find(in.v); in.valid() && it != again.end()) in = it->second;
  for (uint32_t k = 0; k < node.output_count; ++k)
    spec.names.push_back(g.fresh_name(g.name(node.out(k)) + ".again"));
  CLEAVE_TRY(const NodeId made, g.add_node(std::move(spec)));
  for (uint32_t k = 0; k < g.node(n).output_count; ++k)
    again[g.node(n).out(k).v] = g.node(made).out(k);
  return {};
}

Status copy_nodes(const Graph& from, const std::vector<NodeId>& order, Graph& to,
                  std::unordered_map<uint32_t, ValueId>& map, NodeId before) {
  std::vector<uint32_t> files(from.files().size());  // file ids in `to`, 0 until first needed
  for (NodeId n : order) {
    const Node& node = from.node(n);
    NodeSpec spec;
    spec.op = node.op;
    spec.list_size = node.list_size;
    spec.attrs = node.attrs;
    spec.tag = node.tag;
    spec.before = before;
    spec.loc.line = node.loc.line;
    if (node.loc.file != 0) {
      uint32_t& file = files[node.loc.file];
      if (file == 0) file = to.file_id(from.files()[node.loc.file]);
      spec.loc.file = file;
    }
    spec.inputs.reserve(node.inputs.size());
    for (ValueId v : node.inputs) {
      if (!v.valid()) {
        spec.inputs.push_back(v);
        continue;
      }
      auto mapped = map.find(v.v);
      if (mapped == map.end())
        return user_error("@{}: %{} is copied without its operand %{}", from.name(),
                          from.name(node.first_output), from.name(v));
      spec.inputs.push_back(mapped->second);
    }
    spec.names = free_names(from, node, to);
    CLEAVE_TRY(NodeId copy, to.add_node(std::move(spec)));
    for (uint32_t k = 0; k < node.output_count; ++k) {
      const ValueId v = to.node(copy).out(k);
      map[node.out(k).v] = v;
      if (const auto& strides = from.type(node.out(k)).strides; strides != to.type(v).strides)
        to.set_strides(v, strides);
    }
  }
  return {};
}

namespace {

// The nodes between `inputs` and `outputs`, and the symbols mentioned by them and the inputs.
class Extraction {
 public:
  Extraction(const Graph& g, const Values& inputs)
      : g_(g), given_(g.value_capacity()), needed_(g.node_capacity()) {
    for (ValueId v : inputs) given_[v.v] = true;
  }

  // Marks what `output` depends on; a failure names the placeholder that is not among the inputs.
  Status need(ValueId output) {
    std::vector<ValueId> pending{output};
    while (!pending.empty()) {
      const ValueId v = pending.back();
      pending.pop_back();
      if (!v.valid() || given_[v.v]) continue;
      const NodeId n = g_.value(v).def;
      if (!n.valid()) {
        if (is_symint(v)) {
          given_[v.v] = true;
          continue;
        }
        return user_error("@{}: %{} needs %{}, which is not among the inputs", g_.name(),
                          g_.name(output), g_.name(v));
      }
      if (needed_[n.v]) continue;
      needed_[n.v] = true;
      for (ValueId input : g_.node(n).inputs) pending.push_back(input);
    }
    return {};
  }

  std::vector<NodeId> nodes() const {
    std::vector<NodeId> out;
    for (NodeId n = g_.first_node(); n.valid(); n = g_.next_node(n))
      if (needed_[n.v]) out.push_back(n);
    return out;
  }
  bool is_given(ValueId v) const { return given_[v.v]; }

  void collect(const Type& t, std::vector<std::string>& symbols) const {
    for (const Dim& d : t.shape) d.collect_symbols(symbols);
    if (t.strides)
      for (const Dim& d : *t.strides) d.collect_symbols(symbols);
  }
  bool is_symint(ValueId v) const {
    const Placeholder* p = g_.placeholder_of(v);
    return p && p->role == Role::symint;
  }

 private:
  const Graph& g_;
  std::vector<bool> given_;   // by value: a placeholder of the piece
  std::vector<bool> needed_;  // by node
};

}  // namespace

Result<Graph> extract_subgraph(const Graph& g, const std::string& name, const Values& inputs,
                               const Values& outputs, Role role) {
  Extraction piece(g, inputs);
  for (ValueId v : outputs) CLEAVE_CHECK(piece.need(v));
  const std::vector<NodeId> order = piece.nodes();
  std::vector<std::string> symbols;
  for (ValueId v : inputs) piece.collect(g.type(v), symbols);
  for (NodeId n : order) {
    for (const auto& [arg, value] : g.node(n).attrs.given()) collect_symbols(value, symbols);
    for (uint32_t k = 0; k < g.node(n).output_count; ++k)
      piece.collect(g.type(g.node(n).out(k)), symbols);
  }

  Graph out(name);
  std::unordered_map<uint32_t, ValueId> map;
  for (const Placeholder& p : g.placeholders()) {
    if (p.role != Role::symint) continue;
    const std::string& symbol = g.name(p.value);
    if (!piece.is_given(p.value) && !std::binary_search(symbols.begin(), symbols.end(), symbol))
      continue;
    CLEAVE_TRY(map[p.value.v], out.add_placeholder(p.role, symbol, g.type(p.value), false, p.sym));
  }
  for (ValueId v : inputs) {
    if (map.contains(v.v)) continue;
    const Placeholder* p = g.placeholder_of(v);
    CLEAVE_TRY(map[v.v],
               out.add_placeholder(p ? p->role : role, g.name(v), g.type(v), p && p->wants_grad));
  }
  CLEAVE_CHECK(copy_nodes(g, order, out, map));
  for (ValueId v : outputs) out.add_return({map.at(v.v), ReturnKind::result, {}});
  return out;
}

}  // namespace cleave
