#include "inspect/layered_drawing.h"

#include <algorithm>
#include <set>

namespace cleave {
namespace {

constexpr double line_height = 14;

}  // namespace

LayeredDrawing::LayeredDrawing(const Graph& g, Shown shown) : g_(g), shown_(std::move(shown)) {
  box_height_ += line_height * ((shown_.types ? 1 : 0) + (shown_.sources ? 1 : 0));
  if (shown_.calls.empty()) {
    for (const Placeholder& p : g.placeholders())
      if (shown_.placeholders && g.use_count(p.value) > 0)
        add(p.value, std::string(name_of(p.role)), "#ffffff", details_of(p.value));
  } else if (shown_.placeholders) {
    add_inputs(shown_.calls);
  }
  calls_from_ = items_.size();
  if (shown_.calls.empty())
    for (NodeId n = g.first_node(); n.valid(); n = g.next_node(n)) add_call(n);
  else
    for (const NodeId n : shown_.calls) add_call(n);
}

// What the calls read and don't make: placeholders, and results of other calls.
void LayeredDrawing::add_inputs(const std::vector<NodeId>& calls) {
  std::set<ValueId> known;
  for (const NodeId n : calls) {
    const Node& node = g_.node(n);
    for (const ValueId in : node.inputs) {
      if (!in.valid() || !known.insert(in).second) continue;
      const Placeholder* p = g_.placeholder_of(in);
      const NodeId def = g_.value(in).def;
      add(in, p ? std::string(name_of(p->role)) : g_.node(def).op->name, "#ffffff", details_of(in));
    }
    for (uint32_t k = 0; k < node.output_count; ++k) known.insert(node.out(k));
  }
}

void LayeredDrawing::add_call(NodeId n) {
  const Node& node = g_.node(n);
  add(node.out(0), node.op->name, "#eef2f7", details_of(node.out(0)));
  for (uint32_t k = 1; k < node.output_count; ++k) item_of_[node.out(k)] = items_.size() - 1;
  for (const ValueId in : node.inputs)
    if (const auto at = item_of_.find(in); in.valid() && at != item_of_.end())
      items_.back().reads.push_back(at->second);
  for (const ValueId in : node.inputs) items_.back().is_late |= reads_tangent(in);
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

Drawn* LayeredDrawing::find(ValueId v) {
  const auto at = item_of_.find(v);
  return at == item_of_.end() ? nullptr : &items_[at->second];
}

void LayeredDrawing::add(ValueId v, std::string kind, std::string_view fill,
                         std::vector<std::string> details) {
  item_of_[v] = items_.size();
  items_.push_back({.name = "%" + g_.name(v),
                    .kind = std::move(kind),
                    .details = std::move(details),
                    .fill = fill});
  fit(items_.back());
}

bool LayeredDrawing::reads_tangent(ValueId v) const {
  if (!v.valid()) return false;
  const auto at = item_of_.find(v);
  if (at != item_of_.end()) return items_[at->second].is_late;
  const Placeholder* p = g_.placeholder_of(v);
  return p && p->role == Role::tangent;
}

}  // namespace cleave
