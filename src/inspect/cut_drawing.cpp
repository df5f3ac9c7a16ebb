#include "inspect/cut_drawing.h"

#include <algorithm>
#include <map>
#include <set>

#include "inspect/axis.h"
#include "inspect/svg.h"

namespace cleave {
namespace {

constexpr double box_height = 34, row_height = 62, gap = 14, margin = 30, head = 84;

struct Drawn {
  std::string name, kind;
  std::string_view fill = "#eef2f7";
  int layer = 0;
  bool is_late = false;     // reads a tangent, directly or indirectly
  double x = 0, width = 0;  // its left edge
  std::vector<size_t> reads;
};

// The calls of a half and, if asked for, the placeholders that they read.
class HalfDrawing {
 public:
  HalfDrawing(const Graph& g, bool with_placeholders) : g_(g) {
    for (const Placeholder& p : g.placeholders())
      if (with_placeholders && g.use_count(p.value) > 0)
        add(p.value, std::string(name_of(p.role)), "#ffffff");
    calls_from_ = items_.size();
    for (NodeId n = g.first_node(); n.valid(); n = g.next_node(n)) {
      const Node& node = g.node(n);
      add(node.out(0), node.op->name, "#eef2f7");
      for (uint32_t k = 1; k < node.output_count; ++k) item_of_[node.out(k)] = items_.size() - 1;
      for (const ValueId in : node.inputs)
        if (const auto at = item_of_.find(in); in.valid() && at != item_of_.end())
          items_.back().reads.push_back(at->second);
      for (const ValueId in : node.inputs) items_.back().is_late |= reads_tangent(in);
    }
  }

  // Layers from the inputs down; an input is in the layer above its first reader.
  void set_layers_from_inputs() {
    std::vector<int> first(items_.size(), 1 << 30);
    for (Drawn& d : items_) {
      for (const size_t r : d.reads) d.layer = std::max(d.layer, items_[r].layer + 1);
      for (const size_t r : d.reads) first[r] = std::min(first[r], d.layer);
    }
    for (size_t k = 0; k < calls_from_; ++k)
      if (first[k] < 1 << 30) items_[k].layer = first[k] - 1;
    count_layers();
  }

  // Layers from the tangents up; a call that reads no tangent, such as a recomputed one, is in the
  // layer below its first reader.
  void set_layers_from_tangents() {
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

  // Places the boxes of each row, ordered by the mean position of their neighbours in the graph.
  // Returns the width of the widest row.
  double place(double left) {
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

  const std::vector<Drawn>& items() const { return items_; }
  Drawn* find(ValueId v) {
    const auto at = item_of_.find(v);
    return at == item_of_.end() ? nullptr : &items_[at->second];
  }
  int layers() const { return layers_; }

 private:
  void add(ValueId v, std::string kind, std::string_view fill) {
    item_of_[v] = items_.size();
    Drawn d{.name = "%" + g_.name(v), .kind = std::move(kind), .fill = fill};
    d.width = std::max({Svg::text_width(d.name, 11), Svg::text_width(d.kind, 10), 40.0}) + 12;
    items_.push_back(std::move(d));
  }
  bool reads_tangent(ValueId v) const {
    if (!v.valid()) return false;
    const auto at = item_of_.find(v);
    if (at != item_of_.end()) return items_[at->second].is_late;
    const Placeholder* p = g_.placeholder_of(v);
    return p && p->role == Role::tangent;
  }
  void count_layers() {
    for (const Drawn& d : items_) layers_ = std::max(layers_, d.layer + 1);
  }
  double width_of(const std::vector<size_t>& row) const {
    double sum = -gap;
    for (const size_t k : row) sum += items_[k].width + gap;
    return std::max(sum, 0.0);
  }
  void spread(const std::vector<size_t>& row, double left, double widest) {
    double x = left + (widest - width_of(row)) / 2;
    for (const size_t k : row) {
      items_[k].x = x;
      x += items_[k].width + gap;
    }
  }
  void sort_row(std::vector<size_t>& row, const std::vector<std::vector<size_t>>& joined,
                double left, double widest) {
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

  const Graph& g_;
  std::vector<Drawn> items_;
  std::map<ValueId, size_t> item_of_;
  size_t calls_from_ = 0;
  int layers_ = 0;
};

double top_of(const Drawn& d) { return head + d.layer * row_height; }
double middle_of(const Drawn& d) { return d.x + d.width / 2; }

void draw_edges(Svg& svg, const HalfDrawing& half) {
  for (const Drawn& d : half.items())
    for (const size_t r : d.reads) {
      const Drawn& from = half.items()[r];
      const bool down = from.layer < d.layer;
      svg.curve({middle_of(from), top_of(from) + (down ? box_height : 0)},
                {middle_of(d), top_of(d) + (down ? 0 : box_height)}, false, {"#b0b7c3", 1, ""});
    }
}

void draw_boxes(Svg& svg, const HalfDrawing& half) {
  for (const Drawn& d : half.items()) {
    svg.rectangle({d.x, top_of(d), d.width, box_height}, d.fill, {"#667", 0.8, ""}, 4);
    svg.text({middle_of(d), top_of(d) + 14}, d.name, 11, Anchor::middle);
    svg.text({middle_of(d), top_of(d) + 28}, d.kind, 10, Anchor::middle, "#556");
  }
}

void draw_legend(Svg& svg) {
  double x = margin;
  for (const auto& [fill, name] : {std::pair{"#ffd8a8", "saved"},
                                   {"#a5d8ff", "computed again"},
                                   {"#ffffff", "a placeholder"},
                                   {"#eef2f7", "another call"}}) {
    svg.rectangle({x, 44, 16, 12}, fill, {"#667", 0.8, ""}, 3);
    svg.text({x + 21, 54}, name);
    x += 21 + Svg::text_width(name) + 16;
  }
}

}  // namespace

std::optional<std::string> cut_drawing(const std::string& title, const Partition& cut) {
  if (cut.forward.node_count() + cut.backward.node_count() > largest_drawing) return std::nullopt;
  HalfDrawing forward(cut.forward, true), backward(cut.backward, false);
  forward.set_layers_from_inputs();
  backward.set_layers_from_tangents();
  constexpr double between = 150;
  const double left = forward.place(margin);
  const double right_from = margin + left + between, right = backward.place(right_from);
  Svg svg(std::max(right_from + right + margin, 560.0),
          head + row_height * std::max(forward.layers(), backward.layers()) + 20);
  svg.text({margin, 28}, title, 16);
  draw_legend(svg);
  svg.text({margin + left / 2, head - 12}, "forward", 13, Anchor::middle);
  svg.text({right_from + right / 2, head - 12}, "backward", 13, Anchor::middle);
  draw_edges(svg, forward);
  draw_edges(svg, backward);
  for (const RecomputedValue& r : cut.recomputed)
    for (HalfDrawing* half : {&forward, &backward}) {
      const Graph& g = half == &forward ? cut.forward : cut.backward;
      if (const ValueId v = g.find(r.name); v.valid())
        if (Drawn* d = half->find(v)) d->fill = "#a5d8ff";
    }
  for (const SavedValue& s : cut.saved) {
    const ValueId from = cut.forward.find(s.name), to = cut.backward.find(s.name);
    Drawn* d = from.valid() ? forward.find(from) : nullptr;
    if (!d || !to.valid()) continue;
    if (!s.placeholder) d->fill = "#ffd8a8";
    std::set<uint32_t> seen;
    for (const Use& use : cut.backward.uses(to)) {
      if (!seen.insert(use.node.v).second) continue;
      const Drawn& reader = *backward.find(cut.backward.node(use.node).out(0));
      svg.curve({d->x + d->width, top_of(*d) + box_height / 2},
                {reader.x, top_of(reader) + box_height / 2}, true,
                {s.placeholder ? "#ced4da" : "#f08c00", s.placeholder ? 0.8 : 1.6, ""});
    }
  }
  draw_boxes(svg, forward);
  draw_boxes(svg, backward);
  return svg.finish();
}

}  // namespace cleave
