#include "inspect/layered_drawing.h"

#include <algorithm>

namespace cleave {
namespace {

constexpr double gap = 14, line_height = 14, name_size = 11, kind_size = 10;

}  // namespace

LayeredDrawing::LayeredDrawing(const Graph& g, Shown shown) : g_(g), shown_(shown) {
  box_height_ += line_height * ((shown.types ? 1 : 0) + (shown.sources ? 1 : 0));
  for (const Placeholder& p : g.placeholders())
    if (shown.placeholders && g.use_count(p.value) > 0)
      add(p.value, std::string(name_of(p.role)), "#ffffff", details_of(p.value));
  calls_from_ = items_.size();
  for (NodeId n = g.first_node(); n.valid(); n = g.next_node(n)) {
    const Node& node = g.node(n);
    add(node.out(0), node.op->name, "#eef2f7", details_of(node.out(0)));
    for (uint32_t k = 1; k < node.output_count; ++k) item_of_[node.out(k)] = items_.size() - 1;
    for (const ValueId in : node.inputs)
      if (const auto at = item_of_.find(in); in.valid() && at != item_of_.end())
        items_.back().reads.push_back(at->second);
    for (const ValueId in : node.inputs) items_.back().is_late |= reads_tangent(in);
  }
}

std::vector<std::string> LayeredDrawing::details_of(ValueId v) const {
  std::vector<std::string> out;
  if (shown_.types) out.push_back(g_.type(v).text());
  if (!shown_.sources) return out;
  const NodeId def = g_.value(v).def;
  out.push_back(def.valid() ? g_.loc_text(g_.node(def).loc) : "");
  return out;
}

void LayeredDrawing::set_layers_from_inputs() {
  std::vector<int> first(items_.size(), 1 << 30);
  for (Drawn& d : items_) {
    for (const size_t r : d.reads) d.layer = std::max(d.layer, items_[r].layer + 1);
    for (const size_t r : d.reads) first[r] = std::min(first[r], d.layer);
  }
  for (size_t k = 0; k < calls_from_; ++k)
    if (first[k] < 1 << 30) items_[k].layer = first[k] - 1;
  count_layers();
}

void LayeredDrawing::set_layers_from_tangents() {
  std::vector<int> first(items_.size(), 1 << 30);  // the lowest reader
  for (Drawn& d : items_)
    for (const size_t r : d.reads)
      if (items_[r].is_late) d.layer = std::max(d.layer, items_[r].layer + 1);
  int last_layer = 0;
  for (size_t k = items_.size(); k-- > 0;) {
    Drawn& d = items_[k];
    if (!d.is_late && first[k] < 1 << 30) d.layer = first[k] - 1;
    for (const size_t r : d.reads) first[r] = std::min(first[r], d.layer);
    last_layer = std::max(last_layer, d.layer);
  }
  for (Drawn& d : items_) d.layer = last_layer - d.layer;
  count_layers();
}

double LayeredDrawing::place(double left) {
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

Drawn* LayeredDrawing::find(ValueId v) {
  const auto at = item_of_.find(v);
  return at == item_of_.end() ? nullptr : &items_[at->second];
}

void LayeredDrawing::add(ValueId v, std::string kind, std::string_view fill,
                         std::vector<std::string> details) {
  item_of_[v] = items_.size();
  Drawn d{.name = "%" + g_.name(v),
          .kind = std::move(kind),
          .details = std::move(details),
          .fill = fill};
  d.width =
      std::max({Svg::text_width(d.name, name_size), Svg::text_width(d.kind, kind_size), 40.0});
  for (const std::string& line : d.details)
    d.width = std::max(d.width, Svg::text_width(line, kind_size));
  d.width += 12;
  items_.push_back(std::move(d));
}

bool LayeredDrawing::reads_tangent(ValueId v) const {
  if (!v.valid()) return false;
  const auto at = item_of_.find(v);
  if (at != item_of_.end()) return items_[at->second].is_late;
  const Placeholder* p = g_.placeholder_of(v);
  return p && p->role == Role::tangent;
}

void LayeredDrawing::count_layers() {
  for (const Drawn& d : items_) layers_ = std::max(layers_, d.layer + 1);
}

double LayeredDrawing::width_of(const std::vector<size_t>& row) const {
  double sum = -gap;
  for (const size_t k : row) sum += items_[k].width + gap;
  return std::max(sum, 0.0);
}

void LayeredDrawing::spread(const std::vector<size_t>& row, double left, double widest) {
  double x = left + (widest - width_of(row)) / 2;
  for (const size_t k : row) {
    items_[k].x = x;
    x += items_[k].width + gap;
  }
}

void LayeredDrawing::sort_row(std::vector<size_t>& row,
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

Point LayeredDrawing::top_of(const Drawn& d, double top) const {
  return {d.x + d.width / 2, top + d.layer * row_height()};
}

void LayeredDrawing::draw_edges(Svg& svg, double top) const {
  for (const Drawn& d : items_)
    for (const size_t r : d.reads) {
      const Drawn& from = items_[r];
      const bool down = from.layer < d.layer;
      Point begin = top_of(from, top), end = top_of(d, top);
      (down ? begin : end).second += box_height_;
      svg.curve(begin, end, false, {"#b0b7c3", 1, ""});
    }
}

void LayeredDrawing::draw_boxes(Svg& svg, double top) const {
  for (const Drawn& d : items_) {
    const auto [middle, y] = top_of(d, top);
    svg.rectangle({d.x, y, d.width, box_height_}, d.fill, {"#667", 0.8, ""}, 4);
    svg.text({middle, y + 14}, d.name, name_size, Anchor::middle);
    svg.text({middle, y + 28}, d.kind, kind_size, Anchor::middle, "#556");
    for (size_t k = 0; k < d.details.size(); ++k)
      svg.text({middle, y + 28 + line_height * static_cast<double>(k + 1)}, d.details[k], kind_size,
               Anchor::middle, "#889");
  }
}

}  // namespace cleave
