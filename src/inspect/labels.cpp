#include "inspect/labels.h"

#include <algorithm>
#include <cmath>

namespace cleave {
namespace {

// The end of a line as small boxes. Its beginning is left out, where other labels' lines may start.
std::vector<Box> pieces(Point from, Point to) {
  std::vector<Box> out;
  for (int k = 5; k <= 10; ++k) {
    const double s = k / 10.0;
    out.push_back(
        {from.first * (1 - s) + to.first * s - 1, from.second * (1 - s) + to.second * s - 1, 2, 2});
  }
  return out;
}

}  // namespace

bool Labels::is_free(const Box& b) const {
  if (b.x < frame_.x || b.y < frame_.y || b.x + b.width > frame_.x + frame_.width ||
      b.y + b.height > frame_.y + frame_.height)
    return false;
  const auto meets = [&](const Box& t) { return t.overlaps(b); };
  return std::none_of(kept_free_.begin(), kept_free_.end(), meets) &&
         std::none_of(written_.begin(), written_.end(), meets);
}

bool Labels::is_clear(Point from, Point to) const {
  for (const Box& piece : pieces(from, to))
    if (std::any_of(written_.begin(), written_.end(),
                    [&](const Box& t) { return t.overlaps(piece); }))
      return false;
  return true;
}

bool Labels::put(Svg& svg, Point at, std::string_view text, std::string_view colour) {
  constexpr double height = Svg::text_size + 3;
  const double width = Svg::text_width(text) + 4;
  constexpr double pi = 3.14159265358979;
  for (const double away : {12.0, 20.0, 30.0, 45.0, 65.0, 90.0, 120.0, 160.0})
    for (const int turn : {1, 7, 3, 5, 0, 4, 2, 6}) {  // eighths, from the right upwards
      const double across = std::cos(turn * pi / 4), up = std::sin(turn * pi / 4);
      const Point to{at.first + away * across, at.second - away * up};
      const Box box{to.first - width * (1 - across) / 2, to.second - height * (1 + up) / 2, width,
                    height};
      const bool far = away > 20;
      if (!is_free(box) || (far && !is_clear(at, to))) continue;
      if (far) {
        svg.line(at, to, {"#aaa", 0.7, ""});
        for (const Box& piece : pieces(at, to)) written_.push_back(piece);
      }
      svg.text({box.x + 2, box.y + Svg::text_size}, text, Svg::text_size, Anchor::start, colour);
      written_.push_back(box);
      return true;
    }
  return false;
}

}  // namespace cleave
