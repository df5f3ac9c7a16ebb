#include "inspect/module_drawing.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <set>

#include "inspect/axis.h"
#include "inspect/layered_boxes.h"

namespace cleave {
namespace {

constexpr double margin = 30, head = 20;
constexpr std::array<std::string_view, 6> shades = {"#f7f9fc", "#ebf1f9", "#dfe9f6",
                                                    "#d2e1f3", "#c5d9f0", "#b7d0ed"};

std::string_view shade_of(const std::vector<double>& weight, size_t k) {
  if (k >= weight.size()) return shades[1];
  const auto at = static_cast<size_t>(weight[k] * static_cast<double>(shades.size()));
  return shades[std::min(at, shades.size() - 1)];
}

std::vector<Drawn> boxes_of(const CallGroups& groups, const std::vector<GroupSegment>& segments,
                            const std::vector<double>& weight) {
  std::vector<Drawn> out;
  std::set<size_t> begun;
  for (size_t k = 0; k < segments.size(); ++k) {
    const CallGroup& group = groups.groups[segments[k].group];
    const bool is_first = begun.insert(segments[k].group).second;
    Drawn d{.name = group_title(groups.by, group.name),
            .kind = fmt::format("{} call{}", segments[k].calls.size(),
                                segments[k].calls.size() == 1 ? "" : "s"),
            .details = {is_first && group.parameter_bytes > 0
                            ? bytes_text(group.parameter_bytes) + " of parameters"
                            : ""},
            .fill = shade_of(weight, segments[k].group)};
    for (const size_t r : segments[k].reads)
      if (r < k) d.reads.push_back(r);
    out.push_back(std::move(d));
  }
  return out;
}

}  // namespace

std::string group_title(GroupBy by, const std::string& name) {
  if (!name.empty()) return name;
  return by == GroupBy::module ? "(model)" : by == GroupBy::line ? "(no line)" : "(none)";
}

std::string module_drawing(const Graph& g, const CallGroups& groups,
                           const std::vector<double>& weight) {
  const std::vector<GroupSegment> segments = forward_segments(g, groups);
  LayeredBoxes drawing(boxes_of(groups, segments, weight));
  drawing.set_layers();
  const double width = drawing.place(margin);
  Svg svg(width + 2 * margin, head + drawing.row_height() * drawing.layers());
  drawing.draw_edges(svg, head);
  // Where two groups read each other without a path through one of them.
  for (size_t k = 0; k < segments.size(); ++k)
    for (const size_t r : segments[k].reads) {
      if (r < k) continue;
      const Point from = drawing.top_of(drawing.items()[r], head);
      const Point to = drawing.top_of(drawing.items()[k], head);
      svg.line(from, {to.first, to.second + drawing.box_height()}, {"#d0a060", 1, "4 4"});
    }
  drawing.draw_boxes(svg, head);
  return svg.finish();
}

}  // namespace cleave
