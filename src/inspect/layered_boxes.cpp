#include "inspect/layered_boxes.h"

#include <algorithm>
#include <map>

namespace cleave {
namespace {

constexpr double gap = 14, line_height = 14, name_size = 11, kind_size = 10;

}  // namespace

LayeredBoxes::LayeredBoxes(std::vector<Drawn> items) : items_(std::move(items)) {
  size_t lines = 0;
  for (Drawn& d : items_) {
    lines = std::max(lines, d.details.size());
    fit(d);
  }
  box_height_ += line_height * static_cast<double>(lines);
}

void LayeredBoxes::fit(Drawn& d) const {
  d.width =
      std::max({Svg::text_width(d.name, name_size), Svg::text_width(d.kind, kind_size), 40.0});
  for (const std::string& line : d.details)
    d.width = std::max(d.width, Svg::text_width(line, kind_size));
  d.width += 12;
}

void LayeredBoxes::set_layers() {
  for (Drawn& d : items_)
    for (const size_t r : d.reads) d.layer = std::max(d.layer, items_[r].layer + 1);
  count_layers();
}

double LayeredBoxes::place(double left) {
  std::vector<std::vector<size_t>> joined(items_.size());
  for (size_t k = 0; k < items_.size(); ++k)
    for (const size_t r : items_[k].reads) joined[k].push_back(r), joined[r].push_back(k);
  std::vector<std::vector<size_t>> rows(static_cast<size_t>(layers_));
  for (size_t k = 0; k < items_.size(); ++k)
    rows[static_cast<size_t>(items_[k].layer)].push_back(k);
  double widest = 0;
  for (const auto& row : rows) widest = std::max(widest, width_of(row));
  for (auto& row : rows) spread(row, left, widest);
  for (int sweep = 0; sweep < 8; ++sweep)
    for (size_t k = 0; k < rows.size(); ++k)
      sort_row(rows[sweep % 2 ? rows.size() - 1 - k : k], joined, left, widest);
  return widest;
}

void LayeredBoxes::count_layers() {
  for (const Drawn& d : items_) layers_ = std::max(layers_, d.layer + 1);
}

double LayeredBoxes::width_of(const std::vector<size_t>& row) const {
  double sum = -gap;
  for (const size_t k : row) sum += items_[k].width + gap;
  return std::max(sum, 0.0);
}

void LayeredBoxes::spread(const std::vector<size_t>& row, double left, double widest) {
  double x = left + (widest - width_of(row)) / 2;
  for (const size_t k : row) {
    items_[k].x = x;
    x += items_[k].width + gap;
  }
}

void LayeredBoxes::sort_row(std::vector<size_t>& row,
                            const std::vector<std::vector<size_t>>& joined, double left,
                            double widest) {
  std::map<size_t, double> middle;
  for (const size_t k : row) {
    double sum = 0;
    for (const size_t j : joined[k]) sum += items_[j].x + items_[j].width / 2;
    middle[k] = joined[k].empty() ? items_[k].x + items_[k].width / 2
                                  : sum / static_cast<double>(joined[k].size());
  }
  std::stable_sort(row.begin(), row.end(),
                   [&](size_t a, size_t b) { return middle[a] < middle[b]; });
  spread(row, left, widest);
  // Each box is as near to that mean as the boxes before it and the room needed after it allow.
  double room = width_of(row), min_x = left;
  for (const size_t k : row) {
    Drawn& d = items_[k];
    d.x = std::clamp(middle[k] - d.width / 2, min_x, std::max(min_x, left + widest - room));
    min_x = d.x + d.width + gap;
    room -= d.width + gap;
  }
}

Point LayeredBoxes::top_of(const Drawn& d, double top) const {
  return {d.x + d.width / 2, top + d.layer * row_height()};
}

void LayeredBoxes::draw_edges(Svg& svg, double top, const EdgeStroke& stroke) const {
  for (size_t k = 0; k < items_.size(); ++k)
    for (const size_t r : items_[k].reads) {
      const Drawn &from = items_[r], &d = items_[k];
      const bool down = from.layer < d.layer;
      Point begin = top_of(from, top), end = top_of(d, top);
      (down ? begin : end).second += box_height_;
      svg.curve(begin, end, false, stroke ? stroke(r, k) : Stroke{"#b0b7c3", 1, ""});
    }
}

void LayeredBoxes::draw_boxes(Svg& svg, double top) const {
  for (const Drawn& d : items_) {
    const auto [middle, y] = top_of(d, top);
    svg.rectangle({d.x, y, d.width, box_height_}, d.fill, {"#667", 0.8, ""}, 4);
    svg.text({middle, y + 14}, d.name, name_size, Anchor::middle);
    svg.text({middle, y + 28}, d.kind, kind_size, Anchor::middle, "#556");
    for (size_t k = 0; k < d.details.size(); ++k) {
      if (d.details[k].empty()) continue;
      svg.text({middle, y + 28 + line_height * static_cast<double>(k + 1)}, d.details[k], kind_size,
               Anchor::middle, "#889");
    }
  }
}

}  // namespace cleave
