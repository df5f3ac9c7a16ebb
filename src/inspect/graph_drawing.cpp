#include "inspect/graph_drawing.h"

#include <algorithm>
#include <set>

#include "inspect/dot_text.h"
#include "inspect/layered_drawing.h"

namespace cleave {
namespace {

constexpr double margin = 30, head = 50;

bool has_sources(const Graph& g) {
  for (NodeId n = g.first_node(); n.valid(); n = g.next_node(n))
    if (g.node(n).loc.file != 0) return true;
  return false;
}

// Operators, attributes and operands are the same, and the types of the results.
bool is_same_call(const Graph& g, NodeId n, const Graph& other, NodeId m) {
  const Node &a = g.node(n), &b = other.node(m);
  if (a.op != b.op || a.attrs != b.attrs || a.output_count != b.output_count ||
      a.inputs.size() != b.inputs.size() || a.list_size != b.list_size)
    return false;
  for (size_t k = 0; k < a.inputs.size(); ++k) {
    const ValueId v = a.inputs[k], w = b.inputs[k];
    if (v.valid() != w.valid() || (v.valid() && g.name(v) != other.name(w))) return false;
  }
  for (uint32_t k = 0; k < a.output_count; ++k)
    if (g.name(a.out(k)) != other.name(b.out(k)) || g.type(a.out(k)) != other.type(b.out(k)))
      return false;
  return true;
}

}  // namespace

std::set<std::string> changed_calls(const Graph& g, const Graph& other) {
  std::set<std::string> out;
  for (NodeId n = g.first_node(); n.valid(); n = g.next_node(n)) {
    const std::string& name = g.name(g.node(n).out(0));
    const ValueId v = other.find(name);
    const NodeId def = v.valid() ? other.value(v).def : NodeId{};
    if (!def.valid() || !is_same_call(g, n, other, def)) out.insert(name);
  }
  return out;
}

std::string graph_svg(const Graph& g, const GraphDrawing& shown) {
  LayeredDrawing drawing(g, {.types = shown.types, .sources = shown.sources && has_sources(g)});
  drawing.set_layers_from_inputs();
  const double width = drawing.place(margin);
  const std::string title =
      shown.title.empty() ? fmt::format("@{}: {} calls", g.name(), g.node_count()) : shown.title;
  Svg svg(std::max(width + 2 * margin, Svg::text_width(title, 16) + 2 * margin),
          head + drawing.row_height() * drawing.layers() + 20);
  svg.text({margin, 28}, title, 16);
  std::set<ValueId> returned;
  for (const Return& r : g.returns()) returned.insert(r.value);
  for (const ValueId v : returned)
    if (Drawn* d = drawing.find(v); d != nullptr && shown.results) d->fill = "#d3f9d8";
  for (const std::string& name : shown.marked)
    if (const ValueId v = g.find(name); v.valid())
      if (Drawn* d = drawing.find(v)) d->fill = shown.mark;
  drawing.draw_edges(svg, head);
  drawing.draw_boxes(svg, head);
  return svg.finish();
}

std::string graph_dot(const Graph& g, const GraphDrawing& shown) {
  std::string out =
      fmt::format("digraph {} {{\n  node [shape=box, fontsize=10];\n", dot_text(g.name()));
  std::set<ValueId> returned;
  for (const Return& r : g.returns()) returned.insert(r.value);
  const auto node = [&](ValueId v, const std::string& kind, const std::string& source) {
    std::string label = "%" + g.name(v) + "\n" + kind;
    if (shown.types) label += "\n" + g.type(v).text();
    if (shown.sources && !source.empty()) label += "\n" + source;
    const std::string fill = shown.marked.contains(g.name(v))
                                 ? fmt::format(", style=filled, fillcolor={}", dot_text(shown.mark))
                                 : "";
    out += fmt::format("  {} [label={}{}{}];\n", dot_text(g.name(v)), dot_text(label),
                       returned.contains(v) ? ", peripheries=2" : "", fill);
  };
  for (const Placeholder& p : g.placeholders())
    if (g.use_count(p.value) > 0 || returned.contains(p.value))
      node(p.value, std::string(name_of(p.role)), "");
  for (NodeId n = g.first_node(); n.valid(); n = g.next_node(n)) {
    const Node& call = g.node(n);
    node(call.out(0), call.op->name, g.loc_text(call.loc));
    for (const ValueId v : call.inputs) {
      if (!v.valid()) continue;
      const NodeId def = g.value(v).def;
      const ValueId from = def.valid() ? g.node(def).out(0) : v;
      out += fmt::format("  {} -> {}{};\n", dot_text(g.name(from)), dot_text(g.name(call.out(0))),
                         from == v ? "" : fmt::format(" [label={}]", dot_text("%" + g.name(v))));
    }
  }
  return out + "}\n";
}

}  // namespace cleave
