// The axes of a chart: numbers to pixels, and ticks at round numbers in a suitable unit.
#pragma once
#include <cstdint>

#include "inspect/svg.h"

namespace cleave {

// 1536 -> "1.5 KiB"; 2500 -> "2.5 us".
std::string bytes_text(int64_t bytes);
std::string time_text(int64_t ns);

enum class Unit : uint8_t { bytes, ns, count, number };  // count: ticks at integers

class Axis {
 public:
  // `from` and `to` are the pixels of `low` and `high`, which are moved outwards to the next ticks.
  Axis(Unit unit, double low, double high, double from, double to);

  double at(double x) const { return from_ + (x - low_) / (high_ - low_) * (to_ - from_); }
  double high() const { return high_; }
  std::string title(std::string_view what) const;  // "saved, MiB"
  // Draws grid lines across the chart from `begin` to `end`, with their numbers at `begin`.
  void draw(Svg& svg, bool horizontal, double begin, double end) const;

 private:
  double low_, high_, from_, to_, scale_ = 1, tick_distance_ = 1;
  std::string_view name_;
};

}  // namespace cleave
