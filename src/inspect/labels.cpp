#include "inspect/labels.h"

#include <algorithm>
#include <cmath>

namespace cleave {

bool Labels::is_free(const Box& b) const {
  if (b.x < frame_.x || b.y < frame_.y || b.x + b.width > frame_.x + frame_.width ||
      b.y + b.height > frame_.y + frame_.height)
    return false;
  return std::none_of(taken_.begin(), taken_.end(), [&](const Box& t) { return t.overlaps(b); });
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
      if (!is_free(box)) continue;
      if (away > 20) svg.line(at, to, {"#aaa", 0.7, ""});
      svg.text({box.x + 2, box.y + Svg::text_size}, text, Svg::text_size, Anchor::start, colour);
      taken_.push_back(box);
      return true;
    }
  return false;
}

}  // namespace cleave
