#include "partial/regions.h"

#include <algorithm>
#include <set>

#include "ir/edit.h"
#include "ir/print.h"
#include "ir/subgraph.h"

namespace cleave {
namespace {

class Taking {
 public:
  Taking(const Graph& g, const OpRegistry& ops, const Groups& groups)
      : g_(g), call_(ops.find("call")), groups_(groups), step_of_(g.node_capacity(), -1),
        crosses_(g.value_capacity()) {
    for (const GraphRef& sub : subgraphs_in_order(g, {})) names_.insert(sub->name());
  }

  Result<Lowered> run(const TagOf& tag_of) {
    out_.graph = Graph(g_.name());
    for (const Placeholder& p : g_.placeholders()) {
      CLEAVE_TRY(map_[p.value.v],
                 out_.graph.add_placeholder(p.role, g_.name(p.value), g_.type(p.value),
                                            p.wants_grad, p.sym));
    }
    mark_crossing();
    for (const Groups::Step& step : groups_.steps) {
      if (step.is_region) {
        CLEAVE_TRY(const std::optional<Part> part, part_of(step.calls));
        const std::optional<std::string> tag = part ? tag_of(*part->graph) : std::nullopt;
        if (tag) {
          CLEAVE_CHECK(add_call(*part, *tag));
          continue;
        }
      }
      CLEAVE_CHECK(copy_nodes(g_, step.calls, out_.graph, map_));
    }
    std::vector<Return> returns = g_.returns();
    for (Return& r : returns) {
      r.value = map_.at(r.value.v);
      if (r.target.valid()) r.target = map_.at(r.target.v);
    }
    out_.graph.set_returns(std::move(returns));
    out_.region_of.assign(out_.graph.node_capacity(), -1);
    for (size_t k = 0; k < regions_.size(); ++k)
      out_.region_of[regions_[k].v] = static_cast<int32_t>(k);
    return std::move(out_);
  }

 private:
  struct Part {
    std::shared_ptr<Graph> graph;
    Values operands, results;  // of g_
  };

  void mark_crossing() {
    for (size_t k = 0; k < groups_.steps.size(); ++k)
      for (const NodeId n : groups_.steps[k].calls) step_of_[n.v] = static_cast<int32_t>(k);
    for (NodeId n = g_.first_node(); n.valid(); n = g_.next_node(n))
      for (const ValueId v : g_.node(n).inputs)
        if (v.valid() && g_.value(v).def.valid() && step_of_[g_.value(v).def.v] != step_of_[n.v])
          crosses_[v.v] = true;
    for (const Return& r : g_.returns()) crosses_[r.value.v] = true;
  }

  bool is_symint(ValueId v) const {
    const Placeholder* p = g_.placeholder_of(v);
    return p != nullptr && p->role == Role::symint;
  }

  // "subgraph_K", unless a branch or loop has that name.
  std::string fresh_name() const {
    std::string name = fmt::format("subgraph_{}", regions_.size());
    while (names_.contains(name)) name += "_1";
    return name;
  }

  Result<std::optional<Part>> part_of(const std::vector<NodeId>& calls) const {
    Part part;
    std::set<ValueId> seen;
    std::vector<std::string> symbols;
    const auto collect = [&](const Type& t) {
      for (const Dim& d : t.shape) d.collect_symbols(symbols);
      if (t.strides)
        for (const Dim& d : *t.strides) d.collect_symbols(symbols);
    };
    const int32_t step = step_of_[calls[0].v];
    for (const NodeId n : calls) {
      const Node& node = g_.node(n);
      for (const auto& [arg, value] : node.attrs.given()) collect_symbols(value, symbols);
      for (const ValueId v : node.inputs) {
        const bool is_inner =
            v.valid() && g_.value(v).def.valid() && step_of_[g_.value(v).def.v] == step;
        if (!v.valid() || is_inner || !seen.insert(v).second) continue;
        if (is_symint(v)) {
          Dim::symbol(g_.name(v)).collect_symbols(symbols);
          continue;
        }
        part.operands.push_back(v);
        collect(g_.type(v));
      }
      for (uint32_t k = 0; k < node.output_count; ++k) {
        const Type& type = g_.type(node.out(k));
        if (type.is_none) continue;
        collect(type);
        if (crosses_[node.out(k).v]) part.results.push_back(node.out(k));
      }
    }
    if (part.results.empty()) return std::optional<Part>();
    part.graph = std::make_shared<Graph>(fresh_name());
    std::unordered_map<uint32_t, ValueId> map;
    for (const Placeholder& p : g_.placeholders())
      if (is_symint(p.value) && std::ranges::binary_search(symbols, g_.name(p.value))) {
        CLEAVE_TRY(map[p.value.v], part.graph->add_placeholder(p.role, g_.name(p.value),
                                                               g_.type(p.value), false, p.sym));
      }
    for (const ValueId v : part.operands) {
      const Placeholder* p = g_.placeholder_of(v);
      CLEAVE_TRY(map[v.v],
                 part.graph->add_placeholder(p ? p->role : Role::input, g_.name(v), g_.type(v)));
    }
    CLEAVE_CHECK(copy_nodes(g_, calls, *part.graph, map));
    for (const ValueId v : part.results)
      part.graph->add_return({map.at(v.v), ReturnKind::result, {}});
    return std::optional<Part>(std::move(part));
  }

  Status add_call(const Part& part, const std::string& tag) {
    NodeSpec spec{.op = call_};
    for (const ValueId v : part.operands) spec.inputs.push_back(map_.at(v.v));
    spec.list_size = static_cast<uint32_t>(spec.inputs.size());
    const auto set = [&](const char* attr, AttrValue value) {
      spec.attrs.set(static_cast<uint16_t>(call_->schema.find(attr)), std::move(value));
    };
    set("graph", AttrValue(GraphRef(part.graph)));
    set("tag", AttrValue(tag));
    for (const ValueId v : part.results) spec.names.push_back(g_.name(v));
    CLEAVE_TRY(const NodeId made, out_.graph.add_node(std::move(spec)));
    for (size_t k = 0; k < part.results.size(); ++k)
      map_[part.results[k].v] = out_.graph.node(made).out(static_cast<uint32_t>(k));
    regions_.push_back(made);
    out_.tags.push_back(tag);
    return {};
  }

  const Graph& g_;
  const OpDef* call_;
  const Groups& groups_;
  std::vector<int32_t> step_of_;  // by node
  std::vector<bool> crosses_;     // by value: read in another step, or returned
  std::set<std::string> names_;   // of the graphs that g_ refers to
  Lowered out_;
  std::unordered_map<uint32_t, ValueId> map_;  // to out_.graph
  std::vector<NodeId> regions_;
};

}  // namespace

Result<Lowered> take_regions(const Graph& g, const OpRegistry& ops, const Groups& groups,
                             const TagOf& tag_of) {
  return Taking(g, ops, groups).run(tag_of);
}

}  // namespace cleave
