#include "pass/decomposed/ordered_values.h"

#include "loop/read_orders.h"

namespace cleave {

// What a value is a view of that holds its elements in the order of memory; else none.
ValueId OrderedValues::dense_in_memory(ValueId v) const {
  const Graph& g = b_.graph();
  if (!order_.is_whole(g.type(v))) return {};
  Reorder at(g.type(v).numel().value());
  for (;;) {
    if (at == order_.memory()) return v;
    const NodeId n = g.value(v).def;
    if (!n.valid() || !is_static_view(g, n)) return {};
    const std::optional<Reorder> view = order_of_view(g, n);
    const std::optional<Reorder> all = view ? at.then(*view) : std::nullopt;
    if (!all) return {};
    at = *all;
    v = g.node(n).inputs[0];
  }
}

ValueId OrderedValues::turned(ValueId v) {
  if (!v.valid() || !b_.status().ok() || b_.type(v).rank() == 0) return v;
  if (const auto known = turned_.find(v.v); known != turned_.end()) return known->second;
  const Shape shape = order_.padded(b_.type(v).shape);
  const ValueId dense = dense_in_memory(v);
  ValueId made;
  if (dense.valid() || order_.keeps_places(shape)) {
    made = b_.view(dense.valid() ? dense : v, order_.in_memory(shape));
  } else {
    const Shape parts = order_.parts(shape);
    made = b_.permute(parts == b_.type(v).shape ? v : b_.view(v, parts), order_.order());
  }
  return turned_[v.v] = made;
}

ValueId OrderedValues::put(ValueId v, ValueId made) {
  if (!b_.status().ok()) return {};
  const Shape shape = b_.type(v).shape;
  // A fold that drops its dims has been made with them.
  const bool is_whole = std::ssize(order_.shape()) == std::ssize(shape);
  const ValueId ordered = made;
  Shape apart;  // with the extents of `made`, in the order of the dims
  for (const int64_t k : order_.back())
    apart.push_back(b_.type(made).shape[static_cast<size_t>(k)]);
  int64_t before = -1;
  bool keeps_places = true;
  for (const int64_t k : order_.order()) {
    if (apart[static_cast<size_t>(k)] == Dim(1)) continue;
    keeps_places &= k > before;
    before = k;
  }
  if (!keeps_places) made = b_.permute(made, order_.back());
  if (b_.status().ok() && b_.type(made).shape != shape) made = b_.view(made, shape);
  if (!b_.status().ok()) return {};
  b_.graph().replace_uses(v, made);
  if (is_whole) turned_[made.v] = ordered;
  return made;
}

}  // namespace cleave
