#include "compilers/traced_graph.h"

#include "import/exported/composites.h"
#include "ir/text.h"

namespace cleave {
namespace {

GraphValue value_of(const Graph& g, ValueId v) {
  GraphValue out;
  if (!v.valid()) return out;
  const Type& type = g.type(v);
  out.name = g.name(v);
  out.type = type.text();
  out.dtype = type.dtype;
  for (const Dim& d : type.shape) out.shape.push_back(d.text());
  return out;
}

std::string_view name_of(ReturnKind kind) {
  switch (kind) {
    case ReturnKind::result: return "result";
    case ReturnKind::update: return "update";
    case ReturnKind::grad: return "grad";
  }
  return "";
}

}  // namespace

TracedGraph traced_graph(Graph graph, Operators ops) {
  return TracedGraph(std::make_shared<const TracedGraph::State>(
      TracedGraph::State{std::move(graph), std::move(ops)}));
}

TracedGraph TracedGraph::parse(std::string_view text, const Operators& ops,
                               ComplexTensors complex) {
  const Composites& composites = complex == ComplexTensors::in_parts
                                     ? exported::aten_composites()
                                     : exported::aten_composites_of_real();
  Program p = value_or_throw(cleave::parse(text, "graph", ops.registry(), composites));
  value_or_throw(verify(p));
  return traced_graph(std::move(p.main), ops);
}

const std::string& TracedGraph::name() const { return state().graph.name(); }
std::string TracedGraph::text() const { return print(state().graph); }

std::vector<GraphValue> TracedGraph::inputs() const {
  std::vector<GraphValue> out;
  for (const Placeholder& p : state().graph.placeholders()) {
    out.push_back(value_of(state().graph, p.value));
    out.back().role = name_of(p.role);
    out.back().wants_grad = p.wants_grad;
  }
  return out;
}

std::vector<GraphValue> TracedGraph::results() const {
  const Graph& g = state().graph;
  std::vector<GraphValue> out;
  for (const Return& r : g.returns()) {
    out.push_back(value_of(g, r.value));
    out.back().role = name_of(r.kind);
    if (r.kind != ReturnKind::result) out.back().target = g.name(r.target);
  }
  return out;
}

std::vector<GraphCall> TracedGraph::calls() const {
  const Graph& g = state().graph;
  std::vector<GraphCall> out;
  for (NodeId n = g.first_node(); n.valid(); n = g.next_node(n)) {
    const Node& node = g.node(n);
    GraphCall call;
    call.op = node.op->name;
    for (const ValueId v : node.inputs) call.operands.push_back(v.valid() ? g.name(v) : "");
    for (uint32_t k = 0; k < node.output_count; ++k)
      call.results.push_back(value_of(g, node.out(k)));
    call.text = print_node(g, n);
    call.source = g.loc_text(node.loc);
    out.push_back(std::move(call));
  }
  return out;
}

}  // namespace cleave
