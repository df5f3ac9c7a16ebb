// The graph by module, and each module's calls as a drawing.
#include <algorithm>
#include <map>

#include "inspect/axis.h"
#include "inspect/graph_drawing.h"
#include "inspect/layered_drawing.h"
#include "inspect/module_drawing.h"
#include "inspect/report.h"

namespace cleave {
namespace {

constexpr size_t most_boxes = 24;    // groups of the drawing of the whole graph
constexpr size_t most_drawn = 1500;  // calls, in all drawings of groups together

std::string_view name_of(GroupBy by) {
  switch (by) {
    case GroupBy::module: return "module";
    case GroupBy::line: return "source line";
    case GroupBy::op: return "operator";
  }
  return "";
}

// The call that a value of the program comes from: of the graph, or one that runs again under a
// name with an ending (%h.again, %h_1). Invalid for what passes made.
NodeId origin(const Graph& g, std::string name) {
  for (const std::string_view ending : {"", ".again", "_"}) {
    if (ending == "_") {
      while (!name.empty() && name.back() >= '0' && name.back() <= '9') name.pop_back();
    }
    if (!name.ends_with(ending)) continue;
    name.resize(name.size() - ending.size());
    if (const ValueId v = g.find(name); v.valid()) return g.value(v).def;
  }
  return {};
}

// The measured time of each group's kernels, by the values that they are named after; of those
// that no call of the graph has, last.
std::vector<double> times_of(const ReportData& data, const CallGroups& groups) {
  const Graph& g = *data.graph;
  std::vector<size_t> group(g.node_capacity());
  for (size_t k = 0; k < groups.groups.size(); ++k)
    for (const NodeId n : groups.groups[k].calls) group[n.v] = k;
  std::vector<double> out(groups.groups.size() + 1);
  for (const ReportKernel& k : data.kernels) {
    const NodeId def = origin(g, k.name);
    out[def.valid() ? group[def.v] : out.size() - 1] += k.us.value_or(0);
  }
  return out;
}

std::string operators_of(const Graph& g, const std::vector<NodeId>& calls) {
  std::map<std::string, int64_t> count;
  for (const NodeId n : calls) ++count[g.node(n).op->name];
  std::vector<std::pair<int64_t, std::string>> order;
  for (const auto& [op, n] : count) order.emplace_back(-n, op);
  std::ranges::sort(order);
  std::string out;
  for (size_t k = 0; k < order.size() && k < 8; ++k)
    out += fmt::format("{}{} {}", k == 0 ? "" : ", ", order[k].second, -order[k].first);
  return order.size() > 8 ? out + fmt::format(", {} more", order.size() - 8) : out;
}

std::string drawing_of(const Graph& g, const std::vector<NodeId>& calls) {
  const bool lines = std::ranges::any_of(calls, [&](NodeId n) { return g.node(n).loc.file != 0; });
  LayeredDrawing drawing(g, {.types = true, .sources = lines, .calls = calls});
  drawing.set_layers_from_inputs();
  constexpr double margin = 20;
  const double width = drawing.place(margin);
  Svg svg(width + 2 * margin, margin + drawing.row_height() * drawing.layers());
  drawing.draw_edges(svg, margin);
  drawing.draw_boxes(svg, margin);
  return html_drawing(svg.finish());
}

void add_table(HtmlPage& page, const ReportData& data, const std::vector<double>& us) {
  const Graph& g = *data.graph;
  const double most = *std::ranges::max_element(us);
  std::vector<Column> columns = {{std::string(name_of(data.groups.by)), Cell::name},
                                 {"calls", Cell::number},
                                 {"forward", Cell::number},
                                 {"after it", Cell::number},
                                 {"parameters", Cell::number}};
  if (most > 0) columns.push_back({"kernels' time", Cell::bar});
  columns.push_back({"operators"});
  HtmlTable table(std::move(columns));
  for (size_t k = 0; k < data.groups.groups.size(); ++k) {
    const CallGroup& group = data.groups.groups[k];
    const auto calls = std::ssize(group.calls);
    std::vector<std::string> cells = {
        group_title(data.groups.by, group.name), fmt::format("{}", calls),
        fmt::format("{}", calls - group.late), fmt::format("{}", group.late),
        group.parameter_bytes > 0 ? bytes_text(group.parameter_bytes) : ""};
    if (most > 0) cells.push_back(fmt::format("{:.1f} us", us[k]));
    cells.push_back(operators_of(g, group.calls));
    table.row(cells, most > 0 ? us[k] / most : 0);
  }
  if (us.back() > 0)
    table.row({"(made by passes)", "", "", "", "", fmt::format("{:.1f} us", us.back()), ""},
              us.back() / most);
  page.add(table.finish(60));
}

// The whole forward in few boxes.
void add_overview(HtmlPage& page, const ReportData& data) {
  const Graph& g = *data.graph;
  if (g.node_count() == 0) return;
  const CallGroups groups = group_calls(g, data.groups.by, most_boxes);
  const std::vector<double> us = times_of(data, groups);
  const double most = *std::ranges::max_element(us);
  std::vector<double> weight;
  if (most > 0)
    for (size_t k = 0; k + 1 < us.size(); ++k) weight.push_back(us[k] / most);
  page.add(html_drawing(module_drawing(g, groups, weight)));
  if (most > 0)
    page.note("The darker a box, the more time its kernels take, forward and backward.");
}

void add_calls(HtmlPage& page, const ReportData& data) {
  size_t drawn = 0;
  std::string drawings;
  for (const CallGroup& group : data.groups.groups) {
    const std::string title =
        fmt::format("{}: {} calls", group_title(data.groups.by, group.name), group.calls.size());
    if (group.calls.size() > largest_graph_drawing || drawn + group.calls.size() > most_drawn) {
      drawings +=
          html_note(title + ", too many to draw; `cleave draw -o NAME.dot` takes any number");
      continue;
    }
    drawn += group.calls.size();
    drawings += html_details(title, drawing_of(*data.graph, group.calls));
  }
  page.add(html_details(fmt::format("The calls of each {}", name_of(data.groups.by)), drawings));
}

}  // namespace

void add_modules(HtmlPage& page, const ReportData& data) {
  page.section("graph", fmt::format("Graph by {}", name_of(data.groups.by)));
  page.note(data.groups.by == GroupBy::module
                ? "The forward, from the inputs down. Modules are read off the names of the "
                  "parameters; a call that reads none belongs around the module of its operands."
                : "The forward, from the inputs down.");
  add_overview(page, data);
  add_table(page, data, times_of(data, data.groups));
  add_calls(page, data);
}

}  // namespace cleave
