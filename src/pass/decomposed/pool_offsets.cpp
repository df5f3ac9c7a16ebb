// A pooling whose indices its own backward alone reads keeps each one's number within its window, a
// byte in the place of eight, and there is nothing to check:
//
//   %y, %i = max_pool2d_with_indices(%x; ...)
//   %d = max_pool2d_with_indices_backward(%g, %x, %i; ...)
//   ->
//   %y, %o = _low_memory_max_pool_with_offsets(%x; ...)
//   %d = _low_memory_max_pool_backward(%g, %o; input_size=..., ...)
//
// On a GPU the backward of 3 x 3 windows reads and checks the indices three times, which are then
// more bytes than all else of it. Windows of more than 127 elements keep their indices. What
// windows add to one element is added up in the same order.
//
// Source: _low_memory_max_pool_with_offsets of torch/_inductor/decomposition.py, PyTorch 2.13.
#include <algorithm>

#include "ir/builder.h"
#include "op/pool_offsets.h"
#include "pass/passes.h"

namespace cleave {
namespace {

// 2 or 3; 0: it isn't one of these calls.
size_t rank_of(const Graph& g, NodeId n, std::string_view suffix) {
  for (const size_t rank : {2, 3})
    if (g.node(n).op->name == fmt::format("max_pool{}d_with_indices{}", rank, suffix)) return rank;
  return 0;
}

bool are_equal(const PoolWindows& a, const PoolWindows& b) {
  return a.kernel == b.kernel && a.stride == b.stride && a.padding == b.padding &&
         a.dilation == b.dilation && a.ceil_mode == b.ceil_mode;
}

// The backwards that read the indices of a pooling; none: it stays.
std::vector<NodeId> backwards_of(const Graph& g, NodeId pool, size_t rank) {
  const ValueId indices = g.node(pool).out(1);
  if (std::ranges::any_of(g.returns(), [&](const Return& r) { return r.value == indices; }))
    return {};
  const OpView op = g.view(pool);
  const PoolWindows windows = pool_windows(op, rank);
  std::vector<NodeId> out;
  for (const Use& use : g.uses(indices)) {
    const NodeId n = use.node;
    constexpr size_t at_indices = 2;
    if (rank_of(g, n, "_backward") != rank || g.node(n).inputs[at_indices] != indices) return {};
    const OpView backward = g.view(n);
    if (backward.in_type(1).shape != op.in_type(0).shape ||
        !are_equal(pool_windows(backward, rank), windows))
      return {};
    out.push_back(n);
  }
  return out;
}

NamedAttrs attrs_of(const PoolWindows& w) {
  return {{"kernel_size", w.kernel},
          {"stride", w.stride},
          {"padding", w.padding},
          {"dilation", w.dilation},
          {"ceil_mode", w.ceil_mode}};
}

void go_to(Builder& b, NodeId n) {
  b.insert_before(n);
  b.set_loc(b.graph().node(n).loc);
  b.set_tag(b.graph().node(n).tag);
}

Status replace(Graph& g, const std::vector<std::pair<ValueId, ValueId>>& values, NodeId n) {
  std::vector<std::string> names;
  for (const auto& [old, made] : values) {
    names.push_back(g.name(old));
    g.replace_uses(old, made);
  }
  g.erase(n);
  for (size_t k = 0; k < values.size(); ++k) CLEAVE_CHECK(g.rename(values[k].second, names[k]));
  return {};
}

Result<PassCount> shrink_all(Graph& g, const OpRegistry& ops) {
  PassCount count;
  Builder b(g, ops);
  for (const NodeId n : g.order()) {
    if (g.node(n).erased) continue;
    const size_t rank = rank_of(g, n, "");
    if (rank == 0 || !is_floating(g.view(n).in_type(0).dtype)) continue;
    const std::vector<NodeId> backwards = backwards_of(g, n, rank);
    const PoolWindows windows = pool_windows(g.view(n), rank);
    if (backwards.empty() || numel_of(windows.kernel) > most_pool_offsets) continue;
    go_to(b, n);
    const Values made =
        b.call("_low_memory_max_pool_with_offsets", {g.node(n).inputs[0]}, attrs_of(windows));
    CLEAVE_CHECK(b.status());
    for (const NodeId backward : backwards) {
      const Shape x = g.view(backward).in_type(1).shape;
      NamedAttrs attrs = attrs_of(windows);
      attrs.emplace_back("input_size", Shape(x.end() - static_cast<std::ptrdiff_t>(rank), x.end()));
      go_to(b, backward);
      const ValueId d = b.call1("_low_memory_max_pool_backward",
                                {g.node(backward).inputs[0], made[1]}, std::move(attrs));
      CLEAVE_CHECK(b.status());
      CLEAVE_CHECK(replace(g, {{g.node(backward).out(0), d}}, backward));
    }
    CLEAVE_CHECK(replace(g, {{g.node(n).out(0), made[0]}, {g.node(n).out(1), made[1]}}, n));
    ++count.matches;
    count.nodes += 1 + std::ssize(backwards);
  }
  return count;
}

}  // namespace

Pass pool_offsets() {
  return {.name = "pool_offsets",
          .summary = "indices that a pooling's backward alone reads are places within windows",
          .run = shrink_all,
          .rounds = true};
}

}  // namespace cleave
