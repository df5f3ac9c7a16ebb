#include "inspect/trade_chart.h"

#include <algorithm>

#include "inspect/axis.h"
#include "inspect/labels.h"

namespace cleave {
namespace {

constexpr double width = 860, height = 520, left = 80, right = 30, top = 76, bottom = 56;
constexpr Box frame{left, top, width - left - right, height - top - bottom};

// One row above the frame.
void draw_legend(Svg& svg, const std::vector<TradeLine>& lines) {
  double x = left;
  for (const TradeLine& l : lines) {
    const double y = top - 18;
    if (l.line) svg.line({x, y}, {x + 22, y}, {l.colour, 2, l.bound ? "5 4" : ""});
    if (!l.bound) svg.dot({x + 11, y}, l.large ? 6 : 3.5, l.colour, {"white", 1, ""});
    svg.text({x + 27, y + 4}, l.name);
    x += 27 + Svg::text_width(l.name) + 18;
  }
}

}  // namespace

std::string trade_chart(const std::string& title, const std::vector<TradeLine>& lines,
                        std::string_view bytes_are) {
  int64_t bytes = 1, ns = 1;
  for (const TradeLine& l : lines)
    for (const Trade& t : l.points) bytes = std::max(bytes, t.bytes), ns = std::max(ns, t.ns);
  const Axis x(Unit::bytes, 0, 1.08 * static_cast<double>(bytes), left, width - right);
  const Axis y(Unit::ns, 0, 1.05 * static_cast<double>(ns), height - bottom, top);
  Svg svg(width, height);
  svg.text({left, 28}, title, 16);
  draw_legend(svg, lines);
  x.draw(svg, true, height - bottom, top);
  y.draw(svg, false, left, width - right);
  svg.text({left + frame.width / 2, height - 14}, x.title(bytes_are), 12, Anchor::middle);
  svg.upright_text({24, top + frame.height / 2}, y.title("run again"));
  Labels labels(frame);
  const auto place = [&](const Trade& t) {
    return Point{x.at(static_cast<double>(t.bytes)), y.at(static_cast<double>(t.ns))};
  };
  for (const TradeLine& l : lines) {
    std::vector<Point> points;
    for (const Trade& t : l.points) {
      points.push_back(place(t));
      if (!l.bound) labels.keep_free({points.back().first - 5, points.back().second - 5, 10, 10});
    }
    if (!l.line) continue;
    svg.path(points, {l.colour, l.bound ? 1.5 : 2, l.bound ? "5 4" : ""});
    for (size_t k = 1; k < points.size(); ++k)
      for (int part = 0; part <= 20; ++part) {
        const double s = part / 20.0;
        labels.keep_free({points[k - 1].first * (1 - s) + points[k].first * s - 2,
                          points[k - 1].second * (1 - s) + points[k].second * s - 2, 4, 4});
      }
  }
  for (const TradeLine& l : lines)
    for (const Trade& t : l.points)
      if (!l.bound) svg.dot(place(t), l.large ? 6 : 3.5, l.colour, {"white", 1, ""});
  for (auto l = lines.rbegin(); l != lines.rend(); ++l)
    for (const Trade& t : l->points)
      if (!t.label.empty()) labels.put(svg, place(t), t.label, l->colour);
  return svg.finish();
}

}  // namespace cleave
