#include "pass/decomposed/memory_order.h"

#include <algorithm>
#include <limits>
#include <unordered_set>

#include "loop/lower_rule.h"
#include "loop/read_orders.h"
#include "pass/decomposed/by_element.h"

namespace cleave {

std::optional<DimOrder> DimOrder::of(const std::vector<int64_t>& shape, const Reorder& memory) {
  DimOrder out(shape, memory);
  std::vector<int64_t> places;  // of parts: weights in memory
  int64_t weight = numel_of(shape);
  for (size_t d = 0; d < shape.size(); ++d) {
    if (shape[d] == 1) {
      out.parts_.push_back({d, 1});
      places.push_back(std::numeric_limits<int64_t>::max());
      continue;
    }
    // The numbers from weight / shape[d] to weight, as parts of the digits of the order.
    const int64_t end = weight;
    weight /= shape[d];
    int64_t covered = end;
    for (const Reorder::Digit& digit : memory.digits()) {  // by falling weights
      const int64_t low = std::max(weight, digit.from);
      const int64_t high = std::min(end, digit.from * digit.extent);
      if (low >= high) continue;
      if (high != covered || high % low != 0 || low % digit.from != 0) return std::nullopt;
      out.parts_.push_back({d, high / low});
      places.push_back(digit.to * (low / digit.from));
      covered = low;
    }
    if (covered != weight) return std::nullopt;
  }
  for (size_t k = 0; k < places.size(); ++k) out.order_.push_back(static_cast<int64_t>(k));
  std::ranges::stable_sort(out.order_, std::ranges::greater(),
                           [&](int64_t k) { return places[static_cast<size_t>(k)]; });
  return out;
}

bool DimOrder::fits(const Type& t) const {
  if (t.is_none || !t.is_static() || t.shape.size() > shape_.size()) return false;
  const size_t lacks = shape_.size() - t.shape.size();
  for (size_t d = 0; d < t.shape.size(); ++d)
    if (const int64_t n = t.shape[d].value(); n != 1 && n != shape_[lacks + d]) return false;
  return true;
}

bool DimOrder::is_whole(const Type& t) const {
  return !t.is_none && t.is_static() && static_shape(t) == shape_;
}

Shape DimOrder::padded(const Shape& shape) const {
  Shape out(shape_.size() - shape.size(), Dim(1));
  out.insert(out.end(), shape.begin(), shape.end());
  return out;
}

Shape DimOrder::parts(const Shape& shape) const {
  Shape out;
  for (const Part& p : parts_) out.push_back(shape[p.dim] == Dim(1) ? Dim(1) : Dim(p.extent));
  return out;
}

Shape DimOrder::in_memory(const Shape& shape) const {
  const Shape all = parts(shape);
  Shape out;
  for (const int64_t k : order_) out.push_back(all[static_cast<size_t>(k)]);
  return out;
}

bool DimOrder::keeps_places(const Shape& shape) const {
  const Shape all = parts(shape);
  int64_t before = -1;
  for (const int64_t k : order_) {
    if (all[static_cast<size_t>(k)] == Dim(1)) continue;
    if (k < before) return false;
    before = k;
  }
  return true;
}

std::vector<int64_t> DimOrder::back() const {
  std::vector<int64_t> out(order_.size());
  for (size_t k = 0; k < order_.size(); ++k)
    out[static_cast<size_t>(order_[k])] = static_cast<int64_t>(k);
  return out;
}

std::vector<int64_t> DimOrder::dims_in_memory(const std::vector<int64_t>& dims) const {
  std::vector<int64_t> out;
  for (size_t k = 0; k < order_.size(); ++k) {
    const auto dim = static_cast<int64_t>(parts_[static_cast<size_t>(order_[k])].dim);
    if (std::ranges::find(dims, dim) != dims.end()) out.push_back(static_cast<int64_t>(k));
  }
  return out;
}

bool is_static_view(const Graph& g, NodeId n) {
  const Node& node = g.node(n);
  return node.output_count == 1 && node.op->lower.present() && *node.op->lower &&
         std::holds_alternative<loop::ViewRule>((*node.op->lower)->form) &&
         node.inputs[0].valid() && !node.inputs[0].is_number() &&
         g.type(node.inputs[0]).is_static() && g.type(node.out(0)).is_static();
}

std::vector<MemoryRead> memory_reads(const Graph& g, ValueId reader) {
  constexpr size_t most = 256;  // values that are looked at
  const Dim elements = g.type(reader).numel();
  std::vector<MemoryRead> open = {{reader, Reorder(elements.value())}}, out;
  std::unordered_set<uint32_t> seen = {reader.v};
  for (size_t k = 0; k < open.size(); ++k) {
    const MemoryRead at = open[k];
    const NodeId n = g.value(at.value).def;
    const bool is_view = n.valid() && is_static_view(g, n);
    // A clone is there to lie in memory.
    const bool is_computed =
        is_view || (n.valid() && g.node(n).op->name != "clone" && is_by_element(g.view(n)));
    if (!is_computed || open.size() >= most) {
      out.push_back(at);
      continue;
    }
    const std::optional<Reorder> view = is_view ? order_of_view(g, n) : std::nullopt;
    for (const ValueId v : g.node(n).inputs) {
      if (!v.valid() || v.is_number() || !(g.type(v).numel() == elements)) continue;
      const std::optional<Reorder> all = !is_view ? at.order
                                         : view   ? at.order.then(*view)
                                                  : std::nullopt;
      if (all && seen.insert(v.v).second) open.push_back({v, *all});
    }
  }
  return out;
}

}  // namespace cleave
