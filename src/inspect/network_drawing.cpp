#include "inspect/network_drawing.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "inspect/dot_text.h"
#include "inspect/layered_boxes.h"

namespace cleave {
namespace {

using flow::Capacity;
using flow::FailedNetwork;

size_t at(int32_t i) { return static_cast<size_t>(i); }

std::string text_of(Capacity c) { return c == flow::infinite ? "infinite" : fmt::format("{}", c); }

struct Conflict {
  explicit Conflict(const FailedNetwork& failed)
      : first(failed.path.first), last(failed.path.last),
        arcs(failed.path.arcs.begin(), failed.path.arcs.end()), nodes{first} {
    for (const int32_t a : failed.path.arcs) nodes.insert(failed.network.arcs[at(a)].head);
  }
  int32_t first, last;
  std::set<int32_t> arcs, nodes;
};

// The nodes of the conflict, then their neighbours, and so on.
std::set<int32_t> nearest(const FailedNetwork& failed, const Conflict& conflict) {
  std::vector<std::vector<int32_t>> joined(at(failed.network.nodes()));
  for (const flow::Arc& a : failed.network.arcs) {
    joined[at(a.tail)].push_back(a.head);
    joined[at(a.head)].push_back(a.tail);
  }
  std::vector<int32_t> queue(conflict.nodes.begin(), conflict.nodes.end());
  std::set<int32_t> out(queue.begin(), queue.end());
  for (size_t k = 0; k < queue.size(); ++k)
    for (const int32_t n : joined[at(queue[k])])
      if (out.size() < largest_network_drawing && out.insert(n).second) queue.push_back(n);
  return out;
}

// The boxes: the source, the nodes by rising number, the sink; each arc goes from a lower node to a
// higher one, or is left out.
struct NetworkBoxes {
  std::vector<Drawn> boxes;
  std::set<std::pair<size_t, size_t>> infinite, of_conflict;

  NetworkBoxes(const FailedNetwork& failed, const Conflict& conflict) {
    const std::set<int32_t> shown = nearest(failed, conflict);
    boxes.push_back({.name = "source", .kind = "what must not run again", .fill = "#ffffff"});
    std::vector<size_t> box_of(at(failed.network.nodes()));
    for (const int32_t n : shown) {
      box_of[at(n)] = boxes.size();
      const Capacity cost = failed.network.source[at(n)];
      boxes.push_back({.name = failed.names[at(n)],
                       .kind = failed.notes[at(n)],
                       .details = {cost != 0 && cost != flow::infinite
                                       ? fmt::format("running it again costs {}", cost)
                                       : ""},
                       .fill = conflict.nodes.contains(n) ? "#ffd6d6" : "#eef2f7"});
      if (cost == flow::infinite) join(0, box_of[at(n)], true, n == conflict.first);
    }
    for (size_t k = 0; k < failed.network.arcs.size(); ++k) {
      const flow::Arc& a = failed.network.arcs[k];
      if (!shown.contains(a.tail) || !shown.contains(a.head) || a.tail >= a.head) continue;
      join(box_of[at(a.tail)], box_of[at(a.head)], a.capacity == flow::infinite,
           conflict.arcs.contains(static_cast<int32_t>(k)));
      if (a.capacity != flow::infinite)
        boxes[box_of[at(a.head)]].details[0] = fmt::format("saving it costs {}", a.capacity);
    }
    boxes.push_back({.name = "sink", .kind = "what the backward needs", .fill = "#ffffff"});
    for (const int32_t n : shown)
      if (failed.network.sink[at(n)] == flow::infinite)
        join(box_of[at(n)], boxes.size() - 1, true, n == conflict.last);
  }

  void join(size_t from, size_t to, bool is_infinite, bool is_conflict) {
    boxes[to].reads.push_back(from);
    if (is_infinite) infinite.insert({from, to});
    if (is_conflict) of_conflict.insert({from, to});
  }
};

}  // namespace

std::string network_svg(const std::string& title, const FailedNetwork& failed) {
  constexpr double margin = 30, head = 78;
  const Conflict conflict(failed);
  NetworkBoxes network(failed, conflict);
  LayeredBoxes drawing(std::move(network.boxes));
  drawing.set_layers();
  const double width = drawing.place(margin);
  const auto shown = drawing.items().size() - 2;
  const std::string legend = fmt::format(
      "red: the conflict; dark: infinite capacity, which no cut may cross; {} of {} nodes", shown,
      failed.network.nodes());
  Svg svg(std::max({width, Svg::text_width(title, 16), Svg::text_width(legend)}) + 2 * margin,
          head + drawing.row_height() * drawing.layers());
  svg.text({margin, 28}, title, 16);
  svg.text({margin, 52}, legend, Svg::text_size, Anchor::start, "#555");
  drawing.draw_edges(svg, head, [&](size_t from, size_t to) {
    if (network.of_conflict.contains({from, to})) return Stroke{"#c92a2a", 3, ""};
    return network.infinite.contains({from, to}) ? Stroke{"#777", 1, ""}
                                                 : Stroke{"#c5cbd5", 1, "4 3"};
  });
  drawing.draw_boxes(svg, head);
  return svg.finish();
}

std::string network_dot(const std::string& name, const FailedNetwork& failed) {
  const Conflict conflict(failed);
  const flow::Network& network = failed.network;
  std::string out = fmt::format(
      "digraph {} {{\n  node [shape=box, fontsize=10];\n"
      "  source;\n  sink;\n",
      dot_text(name));
  const auto arc = [&](const std::string& from, const std::string& to, Capacity c, bool red) {
    out += fmt::format("  {} -> {} [label=\"{}\"{}];\n", from, to, text_of(c),
                       red ? ", color=red, penwidth=3" : "");
  };
  const auto id = [](int32_t n) { return fmt::format("n{}", n); };
  for (int32_t n = 0; n < network.nodes(); ++n) {
    const std::string& note = failed.notes[at(n)];
    out += fmt::format("  {} [label={}{}];\n", id(n),
                       dot_text(failed.names[at(n)] + (note.empty() ? "" : "\n" + note)),
                       conflict.nodes.contains(n) ? ", color=red" : "");
    if (const Capacity c = network.source[at(n)]; c != 0)
      arc("source", id(n), c, n == conflict.first);
    if (const Capacity c = network.sink[at(n)]; c != 0) arc(id(n), "sink", c, n == conflict.last);
  }
  for (size_t k = 0; k < network.arcs.size(); ++k) {
    const flow::Arc& a = network.arcs[k];
    arc(id(a.tail), id(a.head), a.capacity, conflict.arcs.contains(static_cast<int32_t>(k)));
  }
  return out + "}\n";
}

}  // namespace cleave
