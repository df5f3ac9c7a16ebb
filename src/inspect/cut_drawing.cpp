#include "inspect/cut_drawing.h"

#include <algorithm>
#include <set>

#include "inspect/axis.h"
#include "inspect/layered_drawing.h"

namespace cleave {
namespace {

constexpr double margin = 30, head = 84;

void draw_legend(Svg& svg) {
  double x = margin;
  for (const auto& [fill, name] : {std::pair{"#ffd8a8", "saved"},
                                   {"#a5d8ff", "computed again"},
                                   {"#ffffff", "a placeholder"},
                                   {"#eef2f7", "another call"}}) {
    svg.rectangle({x, 44, 16, 12}, fill, {"#667", 0.8, ""}, 3);
    svg.text({x + 21, 54}, name);
    x += 21 + Svg::text_width(name) + 16;
  }
}

}  // namespace

std::optional<std::string> cut_drawing(const std::string& title, const Partition& cut) {
  if (cut.forward.node_count() + cut.backward.node_count() > largest_drawing) return std::nullopt;
  LayeredDrawing forward(cut.forward, {}), backward(cut.backward, {.placeholders = false});
  forward.set_layers_from_inputs();
  backward.set_layers_from_tangents();
  constexpr double between = 150;
  const double left = forward.place(margin);
  const double right_from = margin + left + between, right = backward.place(right_from);
  Svg svg(std::max(right_from + right + margin, 560.0),
          head + forward.row_height() * std::max(forward.layers(), backward.layers()) + 20);
  svg.text({margin, 28}, title, 16);
  draw_legend(svg);
  svg.text({margin + left / 2, head - 12}, "forward", 13, Anchor::middle);
  svg.text({right_from + right / 2, head - 12}, "backward", 13, Anchor::middle);
  forward.draw_edges(svg, head);
  backward.draw_edges(svg, head);
  for (const RecomputedValue& r : cut.recomputed)
    for (LayeredDrawing* half : {&forward, &backward}) {
      const Graph& g = half == &forward ? cut.forward : cut.backward;
      if (const ValueId v = g.find(r.name); v.valid())
        if (Drawn* d = half->find(v)) d->fill = "#a5d8ff";
    }
  for (const SavedValue& s : cut.saved) {
    const ValueId from = cut.forward.find(s.name), to = cut.backward.find(s.name);
    Drawn* d = from.valid() ? forward.find(from) : nullptr;
    if (!d || !to.valid()) continue;
    if (!s.placeholder) d->fill = "#ffd8a8";
    std::set<uint32_t> seen;
    for (const Use& use : cut.backward.uses(to)) {
      if (!seen.insert(use.node.v).second) continue;
      const Drawn& reader = *backward.find(cut.backward.node(use.node).out(0));
      const double half = forward.box_height() / 2;
      svg.curve({d->x + d->width, forward.top_of(*d, head).second + half},
                {reader.x, backward.top_of(reader, head).second + half}, true,
                {s.placeholder ? "#ced4da" : "#f08c00", s.placeholder ? 0.8 : 1.6, ""});
    }
  }
  forward.draw_boxes(svg, head);
  backward.draw_boxes(svg, head);
  return svg.finish();
}

}  // namespace cleave
