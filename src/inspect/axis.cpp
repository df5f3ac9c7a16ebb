#include "inspect/axis.h"

#include <fmt/format.h>

#include <cmath>
#include <string_view>

namespace cleave {
namespace {

struct Scale {
  std::string_view name;
  double size;
};
constexpr Scale byte_scales[] = {
    {"B", 1}, {"KiB", 1024}, {"MiB", 0x1p20}, {"GiB", 0x1p30}, {"TiB", 0x1p40}};
constexpr Scale time_scales[] = {{"ns", 1}, {"us", 1e3}, {"ms", 1e6}, {"s", 1e9}};

template <size_t N>
const Scale& scale_for(const Scale (&scales)[N], double x) {
  size_t k = 0;
  while (k + 1 < N && x >= scales[k + 1].size) ++k;
  return scales[k];
}

// The smallest 1, 2 or 5 times a power of ten that is at least x.
double round_distance(double x) {
  const double power = std::pow(10, std::floor(std::log10(x)));
  for (const double m : {1.0, 2.0, 5.0})
    if (m * power >= x * (1 - 1e-9)) return m * power;
  return 10 * power;
}

}  // namespace

std::string bytes_text(int64_t bytes) {
  const Scale& s = scale_for(byte_scales, static_cast<double>(bytes));
  return fmt::format("{:.4g} {}", static_cast<double>(bytes) / s.size, s.name);
}

std::string time_text(int64_t ns) {
  const Scale& s = scale_for(time_scales, static_cast<double>(ns));
  return fmt::format("{:.4g} {}", static_cast<double>(ns) / s.size, s.name);
}

Axis::Axis(Unit unit, double low, double high, double from, double to)
    : low_(low), high_(high), from_(from), to_(to) {
  if (unit == Unit::bytes || unit == Unit::ns) {
    const Scale& s =
        unit == Unit::bytes ? scale_for(byte_scales, high) : scale_for(time_scales, high);
    scale_ = s.size;
    name_ = s.name;
  }
  const double range = std::max((high - low) / scale_, unit == Unit::count ? 1.0 : 1e-9);
  tick_distance_ = round_distance(range / 8);
  if (unit == Unit::count) tick_distance_ = std::max(tick_distance_, 1.0);
  low_ = std::floor(low / scale_ / tick_distance_ + 1e-9) * tick_distance_ * scale_;
  high_ = std::ceil((low / scale_ + range) / tick_distance_ - 1e-9) * tick_distance_ * scale_;
}

std::string Axis::title(std::string_view what) const {
  return name_.empty() ? std::string(what) : fmt::format("{}, {}", what, name_);
}

void Axis::draw(Svg& svg, bool horizontal, double begin, double end) const {
  const double first = low_ / scale_;
  for (int k = 0; first + k * tick_distance_ <= high_ / scale_ * (1 + 1e-9); ++k) {
    const double number = first + k * tick_distance_, pixel = at(number * scale_);
    const std::string text = fmt::format("{:.6g}", number);
    if (horizontal) {
      svg.line({pixel, begin}, {pixel, end}, {"#e4e4e4", 1, ""});
      svg.text({pixel, begin + 16}, text, 11, Anchor::middle, "#555");
    } else {
      svg.line({begin, pixel}, {end, pixel}, {"#e4e4e4", 1, ""});
      svg.text({begin - 6, pixel + 4}, text, 11, Anchor::end, "#555");
    }
  }
}

}  // namespace cleave
