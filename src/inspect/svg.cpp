#include "inspect/svg.h"

#include <fmt/format.h>

#include "inspect/markup.h"

namespace cleave {
namespace {

std::string style(const Stroke& s) {
  std::string out = fmt::format("stroke=\"{}\" stroke-width=\"{:g}\"", s.colour, s.width);
  if (!s.dash.empty()) out += fmt::format(" stroke-dasharray=\"{}\"", s.dash);
  return out;
}

std::string listed(std::span<const Point> points) {
  std::string out;
  for (const auto& [x, y] : points) out += fmt::format("{:.1f},{:.1f} ", x, y);
  return out;
}

}  // namespace

void Svg::line(Point a, Point b, const Stroke& stroke) {
  body_ += fmt::format("<line x1=\"{:.1f}\" y1=\"{:.1f}\" x2=\"{:.1f}\" y2=\"{:.1f}\" {}/>\n",
                       a.first, a.second, b.first, b.second, style(stroke));
}

void Svg::path(std::span<const Point> points, const Stroke& stroke) {
  body_ +=
      fmt::format("<polyline fill=\"none\" points=\"{}\" {}/>\n", listed(points), style(stroke));
}

void Svg::curve(Point a, Point b, bool horizontal, const Stroke& stroke) {
  const Point middle{(a.first + b.first) / 2, (a.second + b.second) / 2};
  const Point c = horizontal ? Point{middle.first, a.second} : Point{a.first, middle.second};
  const Point d = horizontal ? Point{middle.first, b.second} : Point{b.first, middle.second};
  body_ += fmt::format(
      "<path fill=\"none\" d=\"M{:.1f},{:.1f} C{:.1f},{:.1f} {:.1f},{:.1f} {:.1f},{:.1f}\" {}/>\n",
      a.first, a.second, c.first, c.second, d.first, d.second, b.first, b.second, style(stroke));
}

void Svg::area(std::span<const Point> points, std::string_view fill) {
  body_ += fmt::format("<polygon points=\"{}\" fill=\"{}\"/>\n", listed(points), fill);
}

void Svg::rectangle(const Box& b, std::string_view fill, const Stroke& stroke, double corner) {
  body_ += fmt::format(
      "<rect x=\"{:.1f}\" y=\"{:.1f}\" width=\"{:.1f}\" height=\"{:.1f}\" rx=\"{:g}\" fill=\"{}\" "
      "{}/>\n",
      b.x, b.y, b.width, b.height, corner, fill, style(stroke));
}

void Svg::dot(Point at, double radius, std::string_view fill, const Stroke& stroke) {
  body_ += fmt::format("<circle cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"{:g}\" fill=\"{}\" {}/>\n",
                       at.first, at.second, radius, fill, style(stroke));
}

void Svg::text(Point at, std::string_view text, double size, Anchor anchor,
               std::string_view colour) {
  const char* where = anchor == Anchor::start ? "start" : anchor == Anchor::end ? "end" : "middle";
  body_ += fmt::format(
      "<text x=\"{:.1f}\" y=\"{:.1f}\" font-size=\"{:g}\" text-anchor=\"{}\" "
      "fill=\"{}\">{}</text>\n",
      at.first, at.second, size, where, colour, markup_text(text));
}

void Svg::upright_text(Point at, std::string_view text, double size) {
  body_ += fmt::format(
      "<text x=\"{0:.1f}\" y=\"{1:.1f}\" font-size=\"{2:g}\" text-anchor=\"middle\" fill=\"#222\" "
      "transform=\"rotate(-90 {0:.1f} {1:.1f})\">{3}</text>\n",
      at.first, at.second, size, markup_text(text));
}

std::string Svg::finish() const {
  return fmt::format(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{0:.0f}\" height=\"{1:.0f}\" "
      "viewBox=\"0 0 {0:.0f} {1:.0f}\" font-family=\"Helvetica, Arial, sans-serif\">\n"
      "<rect width=\"100%\" height=\"100%\" fill=\"white\"/>\n{2}</svg>\n",
      width_, height_, body_);
}

double Svg::text_width(std::string_view text, double size) {
  size_t letters = 0;
  for (const char c : text) letters += (static_cast<unsigned char>(c) & 0xc0) != 0x80;
  return 0.65 * size * static_cast<double>(letters);
}

}  // namespace cleave
