#include "pass/freeze/control_bodies.h"

#include <algorithm>
#include <set>

#include "ir/edit.h"
#include "ir/print.h"
#include "ir/subgraph.h"
#include "pass/freeze/frozen_values.h"

namespace cleave {
namespace {

struct GraphArg {
  uint16_t arg;
  size_t graph;  // in ControlCall::graphs
};

bool returns(const Graph& g, ValueId v) {
  return std::ranges::any_of(g.returns(), [&](const Return& r) { return r.value == v; });
}

class BodyChanges {
 public:
  BodyChanges(const Graph& main, const ChangeBodies& change) : change_(change) {
    for (const GraphRef& g : subgraphs_in_order(main, {})) names_.insert(g->name());
  }

  Result<int64_t> visit(Graph& g, const std::vector<bool>& frozen) {
    int64_t changes = 0;
    for (const NodeId n : g.order()) {
      const std::string& name = g.node(n).op->name;
      if (name != "cond" && name != "while_loop") continue;
      const int carried = name == "while_loop" ? static_cast<int>(g.node(n).output_count) : 0;
      CLEAVE_TRY(const int64_t here, call(g, n, frozen, carried));
      changes += here;
    }
    return changes;
  }

 private:
  Result<int64_t> call(Graph& g, NodeId n, const std::vector<bool>& frozen, int carried) {
    const OpView view = g.view(n);
    ControlCall call{.node = n, .operands = {}, .graphs = {}};
    std::vector<bool> given;
    for (int k = 0; k < view.list_size(); ++k) {
      const ValueId v = view.list_in(k);
      call.operands.push_back(v);
      given.push_back(k >= carried && v.v < frozen.size() && frozen[v.v]);
    }
    std::vector<GraphArg> args;
    std::vector<GraphRef> known;
    for (const auto& [arg, value] : g.node(n).attrs.given()) {
      const GraphRef* graph = value.get<GraphRef>();
      if (!graph) continue;
      const auto at = std::ranges::find(known, *graph);
      args.push_back({arg, static_cast<size_t>(at - known.begin())});
      if (at != known.end()) continue;
      known.push_back(*graph);
      call.graphs.push_back({std::make_shared<Graph>(**graph), given});
    }
    int64_t changes = 0;
    for (ControlBody& body : call.graphs) {
      CLEAVE_TRY(const int64_t inside, visit(*body.graph, body.frozen()));
      changes += inside;
    }
    CLEAVE_TRY(const int64_t here, change_(g, call));
    changes += here;
    if (changes > 0) CLEAVE_CHECK(replace(g, call, args, carried));
    return changes;
  }

  Status replace(Graph& g, ControlCall& call, const std::vector<GraphArg>& args, int carried) {
    for (const ControlBody& body : call.graphs) {
      eliminate_dead_code(*body.graph);
      body.graph->set_name(fresh_name(body.graph->name()));
    }
    const Values handed = drop_unread(call, carried);
    const Node& old = g.node(call.node);
    NodeSpec spec{.op = old.op,
                  .inputs = old.inputs,
                  .list_size = static_cast<uint32_t>(handed.size()),
                  .attrs = old.attrs,
                  .before = call.node,
                  .loc = old.loc,
                  .tag = old.tag};
    spec.inputs.resize(spec.inputs.size() - old.list_size);  // the list is the last operand
    spec.inputs.insert(spec.inputs.end(), handed.begin(), handed.end());
    for (const GraphArg& a : args)
      spec.attrs.set(a.arg, AttrValue(GraphRef(call.graphs[a.graph].graph)));
    CLEAVE_TRY(const NodeId made, g.add_node(std::move(spec)));
    std::vector<std::string> names;
    for (uint32_t k = 0; k < old.output_count; ++k) {
      names.push_back(g.name(old.out(k)));
      g.replace_uses(old.out(k), g.node(made).out(k));
    }
    g.erase(call.node);
    for (uint32_t k = 0; k < names.size(); ++k)
      CLEAVE_CHECK(g.rename(g.node(made).out(k), names[k]));
    return {};
  }

  // Erases the parameters that none of the graphs reads; returns the operands of the others.
  static Values drop_unread(const ControlCall& call, int carried) {
    Values all = call.operands, handed;
    all.insert(all.end(), call.added.begin(), call.added.end());
    std::vector<bool> stays(all.size());
    for (size_t k = 0; k < all.size(); ++k) {
      stays[k] = std::cmp_less(k, carried) ||
                 std::ranges::any_of(call.graphs, [&](const ControlBody& body) {
                   const ValueId v = parameters_of(*body.graph)[k];
                   return body.graph->use_count(v) > 0 || returns(*body.graph, v);
                 });
      if (stays[k]) handed.push_back(all[k]);
    }
    for (const ControlBody& body : call.graphs) {
      size_t k = 0;
      body.graph->filter_placeholders(
          [&](const Placeholder& p) { return p.role == Role::symint || stays[k++]; });
    }
    return handed;
  }

  std::string fresh_name(const std::string& stem) {
    for (int k = 1;; ++k)
      if (std::string name = fmt::format("{}_{}", stem, k); names_.insert(name).second) return name;
  }

  const ChangeBodies& change_;
  std::set<std::string> names_;  // of graphs
};

}  // namespace

std::vector<bool> ControlBody::frozen() const {
  std::vector<bool> kept(graph->value_capacity());
  const Values parameters = parameters_of(*graph);
  for (size_t k = 0; k < parameters.size(); ++k) kept[parameters[k].v] = given[k];
  return frozen_values(*graph, std::move(kept), [](const Node& node) {
    return has(traits_of(node), Trait::data_dependent) ||
           std::ranges::any_of(node.attrs.given(),
                               [](const auto& a) { return a.second.template get<GraphRef>(); });
  });
}

Result<int64_t> change_bodies(Graph& g, const std::vector<bool>& frozen,
                              const ChangeBodies& change) {
  return BodyChanges(g, change).visit(g, frozen);
}

Result<PassCount> change_with_bodies(Graph& g, const ChangeGraph& change) {
  const auto change_inside = [&](Graph&, const ControlCall& call) -> Result<int64_t> {
    int64_t changes = 0;
    for (const ControlBody& body : call.graphs) {
      CLEAVE_TRY(const PassCount here, change(*body.graph, body.frozen()));
      changes += here.matches;
    }
    return changes;
  };
  CLEAVE_TRY(PassCount count, change(g, frozen_values(g)));
  CLEAVE_TRY(const int64_t inside, change_bodies(g, frozen_values(g), change_inside));
  count.matches += inside;
  count.nodes += inside;
  return count;
}

}  // namespace cleave
