#include "ir/subgraph.h"

#include <map>

#include "ir/print.h"

namespace cleave {

Values parameters_of(const Graph& g) {
  Values out;
  for (const Placeholder& p : g.placeholders())
    if (p.role != Role::symint) out.push_back(p.value);
  return out;
}

Types result_types(const Graph& g) {
  Types out;
  for (const Return& r : g.returns()) {
    out.push_back(g.type(r.value));
    out.back().strides.reset();
  }
  return out;
}

Trait traits_of(const Node& node) {
  Trait traits = node.op->traits;
  const auto add = [&](const Graph& g) {
    for (NodeId n = g.first_node(); n.valid(); n = g.next_node(n))
      for (const Trait t : {Trait::random, Trait::data_dependent, Trait::effect, Trait::collective})
        if (has(g.node(n).op->traits, t)) traits = traits | t;
  };
  for (const auto& [arg, value] : node.attrs.given()) {
    const GraphRef* g = value.get<GraphRef>();
    if (!g || !*g) continue;
    add(**g);
    for (const GraphRef& inner : subgraphs_in_order(**g, {})) add(*inner);
  }
  return traits;
}

namespace {

class Rewriter {
 public:
  explicit Rewriter(const std::function<Result<bool>(Graph&)>& change) : change_(change) {}

  // Returns whether a node of g now refers to another graph.
  Result<bool> visit(Graph& g) {
    bool changed = false;
    for (NodeId n = g.first_node(); n.valid(); n = g.next_node(n)) {
      std::vector<std::pair<uint16_t, GraphRef>> found;
      for (const auto& [arg, value] : g.node(n).attrs.given())
        if (const GraphRef* sub = value.get<GraphRef>(); sub && *sub) found.emplace_back(arg, *sub);
      for (const auto& [arg, sub] : found) {
        CLEAVE_TRY(GraphRef next, rewritten(sub));
        if (next == sub) continue;
        g.set_attr(n, arg, AttrValue(std::move(next)));
        changed = true;
      }
    }
    return changed;
  }

 private:
  Result<GraphRef> rewritten(const GraphRef& sub) {
    if (const auto known = done_.find(sub); known != done_.end()) return known->second;
    auto copy = std::make_shared<Graph>(*sub);
    CLEAVE_TRY(const bool inside, visit(*copy));
    CLEAVE_TRY(const bool itself, change_(*copy));
    return done_[sub] = inside || itself ? GraphRef(std::move(copy)) : sub;
  }

  const std::function<Result<bool>(Graph&)>& change_;
  std::map<GraphRef, GraphRef> done_;  // looked up, never iterated
};

}  // namespace

Status rewrite_subgraphs(Graph& g, const std::function<Result<bool>(Graph&)>& change) {
  const Result<bool> changed = Rewriter(change).visit(g);
  if (!changed.ok()) return Failure(changed.failure());
  return {};
}

void collect_symbols(const AttrValue& v, std::vector<std::string>& symbols) {
  if (const Dim* d = v.get<Dim>()) d->collect_symbols(symbols);
  if (const AttrList* list = v.get<AttrList>())
    for (const AttrValue& item : *list) collect_symbols(item, symbols);
  if (const GraphRef* g = v.get<GraphRef>(); g && *g)
    for (const Placeholder& p : (*g)->placeholders())
      if (p.role == Role::symint) Dim::symbol((*g)->name(p.value)).collect_symbols(symbols);
}

}  // namespace cleave
