// A picture as SVG text: shapes in pixels, the origin at the top left.
#pragma once
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace cleave {

using Point = std::pair<double, double>;

struct Stroke {
  std::string_view colour = "#333";
  double width = 1;
  std::string_view dash = "";  // "4 3"
};

enum class Anchor : uint8_t { start, middle, end };

struct Box {
  double x = 0, y = 0, width = 0, height = 0;
  bool overlaps(const Box& b) const {
    return x < b.x + b.width && b.x < x + width && y < b.y + b.height && b.y < y + height;
  }
};

class Svg {
 public:
  Svg(double width, double height) : width_(width), height_(height) {}

  void line(Point a, Point b, const Stroke& stroke);
  void path(std::span<const Point> points, const Stroke& stroke);
  // From a to b, starting and ending in the given direction.
  void curve(Point a, Point b, bool horizontal, const Stroke& stroke);
  void area(std::span<const Point> points, std::string_view fill);
  void rectangle(const Box& box, std::string_view fill, const Stroke& stroke, double corner = 0);
  void dot(Point at, double radius, std::string_view fill, const Stroke& stroke);
  // `at` is on the baseline; `anchor` says which point of the text it is.
  void text(Point at, std::string_view text, double size = text_size, Anchor anchor = Anchor::start,
            std::string_view colour = "#222");
  // Rotated to read upwards, with its middle at the point.
  void upright_text(Point at, std::string_view text, double size = text_size);
  std::string finish() const;

  static constexpr double text_size = 12;
  // An upper bound: no usual font has wider letters on average.
  static double text_width(std::string_view text, double size = text_size);

 private:
  double width_, height_;
  std::string body_;
};

}  // namespace cleave
