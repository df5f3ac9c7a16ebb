#include "inspect/loss_chart.h"

#include <algorithm>
#include <cmath>

#include "inspect/axis.h"
#include "inspect/svg.h"

namespace cleave {
namespace {

constexpr double width = 860, height = 460, left = 80, right = 30, top = 76, bottom = 56;
constexpr size_t most_points = 800;
constexpr std::string_view train_colour = "#3b6fb6", held_out_colour = "#c2571a";

void draw_legend(Svg& svg, std::string_view name, std::string_view colour, double x, bool dot) {
  constexpr double y = top - 18;
  svg.line({x, y}, {x + 22, y}, {colour, 2, ""});
  if (dot) svg.dot({x + 11, y}, 3.5, colour, {"white", 1, ""});
  svg.text({x + 27, y + 4}, name);
}

}  // namespace

std::vector<LossCurves::Point> thinned(const std::vector<LossCurves::Point>& points, size_t most) {
  std::vector<LossCurves::Point> finite, out;
  std::ranges::copy_if(points, std::back_inserter(finite),
                       [](const auto& p) { return std::isfinite(p.second); });
  if (finite.size() <= most) return finite;
  const size_t each = (finite.size() + most - 1) / most;
  for (size_t k = 0; k < finite.size(); k += each) {
    const size_t end = std::min(k + each, finite.size());
    double sum = 0;
    for (size_t j = k; j < end; ++j) sum += finite[j].second;
    out.emplace_back(finite[(k + end - 1) / 2].first, sum / static_cast<double>(end - k));
  }
  return out;
}

std::string loss_chart(const LossCurves& curves) {
  const auto train = thinned(curves.train, most_points);
  const auto held_out = thinned(curves.held_out, most_points);
  double first = 0, last = 1, low = 0, high = 1;
  bool is_empty = true;
  for (const auto* line : {&train, &held_out})
    for (const auto& [step, loss] : *line) {
      const auto at = static_cast<double>(step);
      first = is_empty ? at : std::min(first, at);
      last = is_empty ? at : std::max(last, at);
      low = is_empty ? loss : std::min(low, loss);
      high = is_empty ? loss : std::max(high, loss);
      is_empty = false;
    }
  const Axis x(Unit::count, first, std::max(last, first + 1), left, width - right);
  const Axis y(Unit::number, low, high > low ? high : low + 1, height - bottom, top);
  Svg svg(width, height);
  svg.text({left, 28}, curves.title, 16);
  draw_legend(svg, "training", train_colour, left, false);
  if (!held_out.empty()) draw_legend(svg, "held out", held_out_colour, left + 110, true);
  x.draw(svg, true, height - bottom, top);
  y.draw(svg, false, left, width - right);
  svg.text({left + (width - left - right) / 2, height - 14}, "step", 12, Anchor::middle);
  svg.upright_text({24, top + (height - top - bottom) / 2}, "loss");
  const auto places = [&](const std::vector<LossCurves::Point>& line) {
    std::vector<Point> out;
    for (const auto& [step, loss] : line)
      out.emplace_back(x.at(static_cast<double>(step)), y.at(loss));
    return out;
  };
  svg.path(places(train), {train_colour, 1.5, ""});
  const std::vector<Point> dots = places(held_out);
  svg.path(dots, {held_out_colour, 2, ""});
  for (const Point& p : dots) svg.dot(p, 3.5, held_out_colour, {"white", 1, ""});
  return svg.finish();
}

}  // namespace cleave
