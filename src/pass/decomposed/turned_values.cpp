#include "pass/decomposed/turned_values.h"

#include <algorithm>
#include <numeric>

#include "op/dims.h"

namespace cleave {
namespace {

using Order = std::vector<int64_t>;

// Whether the dims that take a place stand in their own order.
bool keeps_places(const Shape& shape, const Order& order) {
  int64_t before = -1;
  for (const int64_t d : order) {
    if (shape[static_cast<size_t>(d)] == Dim(1)) continue;
    if (d < before) return false;
    before = d;
  }
  return true;
}

Shape in_order(const Shape& shape, const Order& order) {
  Shape out;
  for (const int64_t d : order) out.push_back(shape[static_cast<size_t>(d)]);
  return out;
}

}  // namespace

std::vector<int64_t> to_channels_last(int64_t rank) {
  Order order = {0};
  for (int64_t d = 2; d < rank; ++d) order.push_back(d);
  order.push_back(1);
  return order;
}

std::vector<int64_t> to_channels_first(int64_t rank) {
  Order order = {0, rank - 1};
  for (int64_t d = 1; d + 1 < rank; ++d) order.push_back(d);
  return order;
}

int64_t channels_last_dim(int64_t d, int64_t rank) {
  if (d == 0) return 0;
  return d == 1 ? rank - 1 : d - 1;
}

bool is_image(const Graph& g, ValueId v) {
  if (!v.valid()) return false;
  const Type& t = g.type(v);
  return !t.is_none && t.rank() >= 3 && t.rank() <= 5 && t.is_static() && t.numel().value() > 0;
}

ValueId TurnedValues::permuted(ValueId v, Order order) {
  const Graph& g = b_.graph();
  for (;;) {
    const NodeId n = g.value(v).def;
    if (!n.valid() || g.node(n).op->name != "permute") break;
    const OpView op = g.view(n);
    const Order inner = from_front(op.ints_attr("dims"), op.in_type(0).rank());
    for (int64_t& d : order) d = inner[static_cast<size_t>(d)];
    v = op.in(0);
  }
  if (std::ranges::is_sorted(order)) return v;
  if (keeps_places(g.type(v).shape, order)) return b_.view(v, in_order(g.type(v).shape, order));
  return b_.permute(v, order);
}

ValueId TurnedValues::last(ValueId v) {
  if (const auto known = last_.find(v.v); known != last_.end()) return known->second;
  if (!b_.status().ok()) return ValueId::none();
  const ValueId made = permuted(v, to_channels_last(b_.type(v).rank()));
  if (!b_.status().ok()) return ValueId::none();
  const NodeId n = b_.graph().value(made).def;
  if (n.valid() && b_.graph().node(n).op->name == "permute") views_.insert(v.v);
  return last_[v.v] = made;
}

ValueId TurnedValues::dense(ValueId v) {
  const ValueId made = last(v);
  if (views_.erase(v.v) == 0) return made;
  return last_[v.v] = b_.call1("clone", {made});
}

ValueId TurnedValues::copied(ValueId v, const Order& order) {
  const Graph& g = b_.graph();
  const NodeId n = g.value(v).def;
  if (!n.valid() || g.node(n).op->name != "_to_copy")
    return b_.call1("clone", {permuted(v, order)});
  const ValueId from = permuted(g.node(n).inputs[0], order);
  return b_.call1("_to_copy", {from}, {{"dtype", g.type(v).dtype}});
}

ValueId TurnedValues::weight(ValueId v) {
  if (last_.contains(v.v)) return dense(v);
  if (const auto known = weights_.find(v.v); known != weights_.end()) return known->second;
  if (!b_.status().ok()) return ValueId::none();
  const Shape& shape = b_.type(v).shape;
  const Order order = to_channels_last(b_.type(v).rank());
  const ValueId made =
      keeps_places(shape, order) ? b_.view(v, in_order(shape, order)) : copied(v, order);
  return weights_[v.v] = made;
}

ValueId TurnedValues::broadcast(ValueId v, int64_t rank) {
  if (!v.valid() || !b_.status().ok()) return v;
  const Type& t = b_.type(v);
  if (t.rank() == rank) return last(v);
  if (t.rank() == 0) return v;
  Shape shape(static_cast<size_t>(rank - t.rank()), Dim(1));
  shape.insert(shape.end(), t.shape.begin(), t.shape.end());
  return permuted(b_.view(v, shape), to_channels_last(rank));
}

ValueId TurnedValues::put(ValueId v, ValueId last) {
  if (!b_.status().ok()) return ValueId::none();
  const ValueId first = permuted(last, to_channels_first(b_.type(last).rank()));
  if (!b_.status().ok()) return ValueId::none();
  b_.graph().replace_uses(v, first);
  last_[first.v] = last;
  return first;
}

}  // namespace cleave
