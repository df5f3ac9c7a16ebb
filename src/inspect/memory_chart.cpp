#include "inspect/memory_chart.h"

#include <algorithm>
#include <numeric>

#include "inspect/axis.h"
#include "inspect/labels.h"

namespace cleave {
namespace {

constexpr double width = 860, height = 460, left = 80, right = 30, top = 76, bottom = 36;
constexpr Box frame{left, top, width - left - right, height - top - bottom};
constexpr std::array<std::string_view, kept_kinds> colours = {"#b9bec7", "#8c6bb1", "#f28e2b",
                                                              "#59a14f", "#4e79a7", "#76b7b2"};

int64_t sum_of(const MemoryByKind& bytes) {
  return std::accumulate(bytes.begin(), bytes.end(), int64_t{0});
}

// At most about 1500 columns: of neighbouring thunks of one half the one with the most bytes.
struct Columns {
  std::vector<MemoryByKind> thunks;
  size_t forward = 0;
};
Columns columns_of(const MemoryProfile& p) {
  constexpr size_t max_columns = 1500;
  const size_t each = (p.thunks.size() + max_columns - 1) / max_columns;
  Columns out;
  for (size_t k = 0; k < p.thunks.size();) {
    const size_t end =
        std::min(k + each, k < p.forward_thunks ? p.forward_thunks : p.thunks.size());
    size_t best = k;
    for (; k < end; ++k)
      if (sum_of(p.thunks[k]) > sum_of(p.thunks[best])) best = k;
    out.thunks.push_back(p.thunks[best]);
    if (k <= p.forward_thunks) out.forward = out.thunks.size();
  }
  return out;
}

struct Chart {
  const std::vector<MemoryByKind>& thunks;
  const Axis& y;
  double count() const { return static_cast<double>(thunks.size()); }
  double x(size_t k) const { return left + frame.width * static_cast<double>(k) / count(); }
};

// Draws the kinds as areas on top of each other, and the legend. Returns their sum by column.
std::vector<double> draw_kinds(Svg& svg, const Chart& chart) {
  double legend = left;
  std::vector<double> below(chart.thunks.size());
  for (size_t kind = 0; kind < kept_kinds; ++kind) {
    std::vector<Point> upper, lower;
    bool any = false;
    for (size_t k = 0; k < chart.thunks.size(); ++k) {
      const auto bytes = static_cast<double>(chart.thunks[k][kind]);
      any |= bytes > 0;
      for (const size_t edge : {k, k + 1}) {
        lower.emplace_back(chart.x(edge), chart.y.at(below[k]));
        upper.emplace_back(chart.x(edge), chart.y.at(below[k] + bytes));
      }
      below[k] += bytes;
    }
    if (!any) continue;
    upper.insert(upper.end(), lower.rbegin(), lower.rend());
    svg.area(upper, colours[kind]);
    svg.rectangle({legend, top - 26, 14, 12}, colours[kind], {"none", 0, ""});
    svg.text({legend + 19, top - 16}, kept_names[kind]);
    legend += 19 + Svg::text_width(kept_names[kind]) + 16;
  }
  return below;
}

// The base line, and the boundary between forward and backward at `middle`.
void draw_halves(Svg& svg, const MemoryProfile& profile, double middle) {
  svg.line({left, height - bottom}, {width - right, height - bottom}, {"#333", 1, ""});
  if (profile.forward_thunks == profile.thunks.size()) {
    svg.text({left + frame.width / 2, height - bottom + 18},
             fmt::format("{} steps", profile.thunks.size()), 12, Anchor::middle);
    return;
  }
  svg.line({middle, top}, {middle, height - bottom}, {"#333", 1, "2 3"});
  const std::string names[] = {
      fmt::format("forward, {} steps", profile.forward_thunks),
      fmt::format("backward, {} steps", profile.thunks.size() - profile.forward_thunks)};
  const double widths[] = {Svg::text_width(names[0]), Svg::text_width(names[1])};
  double first = (left + middle - widths[0]) / 2;
  double second = (middle + width - right - widths[1]) / 2;
  // Beside each other where one half is narrow.
  first = std::clamp(first, left, std::max(left, width - right - widths[1] - widths[0] - 16));
  second = std::clamp(second, std::min(first + widths[0] + 16, width - right - widths[1]),
                      width - right - widths[1]);
  svg.text({first, height - bottom + 18}, names[0]);
  svg.text({second, height - bottom + 18}, names[1]);
}

}  // namespace

std::string memory_chart(const std::string& title, const MemoryProfile& profile,
                         std::optional<int64_t> budget) {
  const Columns columns = columns_of(profile);
  const std::vector<MemoryByKind>& thunks = columns.thunks;
  size_t peak = 0;
  for (size_t k = 1; k < thunks.size(); ++k)
    if (sum_of(thunks[k]) > sum_of(thunks[peak])) peak = k;
  const int64_t top_bytes =
      std::max({sum_of(thunks[peak]), profile.planned_peak, budget.value_or(0)});
  Svg svg(width, height);
  const Axis y(Unit::bytes, 0, static_cast<double>(std::max<int64_t>(top_bytes, 1)) * 1.08,
               height - bottom, top);
  svg.text({left, 28}, title, 16);
  y.draw(svg, false, left, width - right);
  svg.upright_text({24, top + frame.height / 2}, y.title("in memory"));
  const Chart chart{thunks, y};
  const std::vector<double> below = draw_kinds(svg, chart);
  Labels labels(frame);
  for (size_t k = 0; k < thunks.size(); ++k) {
    const double at = y.at(below[k]);
    labels.keep_free({chart.x(k), at, frame.width / chart.count(), height - bottom - at});
  }
  const double middle = chart.x(columns.forward);
  draw_halves(svg, profile, middle);
  labels.keep_free({middle - 1, top, 2, frame.height});
  if (budget) {
    const double at = y.at(static_cast<double>(*budget));
    svg.line({left, at}, {width - right, at}, {"#d62728", 1.5, "6 3"});
    labels.keep_free({left, at - 3, frame.width, 6});
    labels.put(svg, {left + 60, at}, "budget " + bytes_text(*budget), "#d62728");
  }
  const Point tip{(chart.x(peak) + chart.x(peak + 1)) / 2,
                  y.at(static_cast<double>(sum_of(thunks[peak])))};
  svg.dot(tip, 4, "#222", {"white", 1, ""});
  const int64_t gaps = profile.planned_peak - sum_of(thunks[peak]);
  labels.put(svg, tip,
             fmt::format("peak {}{}", bytes_text(profile.planned_peak),
                         gaps > 0 ? fmt::format(", {} of it gaps", bytes_text(gaps)) : ""),
             "#222");
  return svg.finish();
}

}  // namespace cleave
