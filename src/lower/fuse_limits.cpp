#include "lower/fuse_limits.h"

#include <algorithm>

#include "lower/fuse_rows.h"
#include "schedule/group_orders.h"

namespace cleave {

using namespace fuse_cost;

namespace {

int64_t position(const FuseGrouping& p, int32_t g) { return p.calls[p.groups.all[g].at].position; }

// Whether n recomputes a value and would move up across an unfused kernel.
bool is_too_early(const FuseGrouping& p, NodeId n, int32_t g) {
  return p.repeated[n.v] && p.calls[p.groups.all[g].at].kernels_before < p.calls[n].kernels_before;
}

bool is_read(const FuseGrouping& p, int32_t g) {
  return std::ranges::any_of(p.groups.all[g].readers,
                             [&](int32_t r) { return p.groups.find(r) != g; });
}

bool are_few(const FuseGrouping& p, size_t nodes, size_t calls, size_t buffers) {
  return nodes <= static_cast<size_t>(max_nodes) && calls <= max_calls &&
         buffers <= static_cast<size_t>(p.costs.max_streams);
}

// Whether a kernel that folds the rows of the group can store elements in this order: rows stay
// rows; or they are few elements, each of which takes as long as a line, in all a small part of a
// kernel's start. A softmax of [320,320] and a sine of it, transposed, take 114 us in one kernel
// and 65 in two (AVX2: 164 and 124), of [1024,1024] 9.0 ms and 1.0, of [8,20] 0.69 us and 0.39
// (1.12 and 0.88; a core of a Zen 5, 2026-11-30).
bool stores_rows(const FuseGrouping& p, const FuseGroup& group, const Reorder& turn) {
  if (!has_whole_rows(group)) return false;
  return keeps_rows(turn, group.elements / group.forms[0].results) ||
         group.elements * line_bytes * small_part <= p.costs.launch_bytes;
}

// Whether what the call reads in the group's order, though it lies in the call's, stays in a cache.
// No fold may join a group without folds behind it: those that read the results would be kernels of
// their own.
bool may_turn(const FuseGrouping& p, NodeId n, int32_t g, const Reorder& turn) {
  const FuseGroup& group = p.groups.all[g];
  const auto is_folded = [&](NodeId m) { return p.calls[m].is_folded; };
  if (is_folded(n)) return false;
  if (group.forms.empty() ? std::ranges::any_of(group.nodes, is_folded)
                          : !stores_rows(p, group, turn))
    return false;
  int64_t bytes = 0;
  for (const auto& [v, read] : p.calls[n].orders)
    if (!p.groups.all[g].orders.contains(v) && turn.then(read) != Reorder(p.calls[n].elements))
      bytes += bytes_of(p.graph, ValueId{v});
  return bytes <= p.costs.row_bytes;
}

// Whether only g reads the values of `from`, and may recompute them for each of its elements.
bool is_small_part(const FuseGrouping& p, int32_t from, int32_t g) {
  const FuseGroup &part = p.groups.all[from], &whole = p.groups.all[g];
  int64_t flops = 0;
  for (const NodeId n : part.nodes) {
    const Node& node = p.graph.node(n);
    flops += p.calls[n].flops;
    for (uint32_t k = 0; k < node.output_count; ++k)
      if (is_read_outside(p.graph, p.calls, p.groups, node.out(k), g)) return false;
  }
  return p.costs.is_worth_repeating(flops, part.elements, whole.elements);
}

// Whether calls of the two groups that read folds of either could have joined what both are.
bool fit_rows_together(const FuseGrouping& p, int32_t from, int32_t g) {
  const FuseGroup &a = p.groups.all[from], &b = p.groups.all[g];
  if (a.forms.empty() && b.forms.empty()) return true;
  FuseGroup both;
  both.elements = (a.forms.empty() ? b : a).elements;
  for (const FuseGroup* group : {&a, &b}) {
    both.nodes.insert(both.nodes.end(), group->nodes.begin(), group->nodes.end());
    both.forms.insert(both.forms.end(), group->forms.begin(), group->forms.end());
  }
  const auto is_fold_of_both = [&](ValueId v) {
    const FuseCall* maker = p.calls.maker_of(p.graph, v);
    const int32_t made_by = p.group_of(v);
    return maker && maker->kind == FuseCall::Kind::fold && (made_by == from || made_by == g);
  };
  return std::ranges::all_of(both.nodes, [&](NodeId n) {
    return std::ranges::none_of(p.calls[n].materialized_reads, is_fold_of_both) ||
           fits_rows(p.graph, p.calls, p.costs, n, both);
  });
}

// Whether the value has one element for each row that the group folds.
bool is_of_rows(const FuseGrouping& p, ValueId v, const FuseGroup& group) {
  return !group.forms.empty() && numel_of(static_shape(p.graph.type(v))) == group.forms[0].results;
}

}  // namespace

bool FuseGrouping::is_known_at(const std::vector<ValueId>& values, int32_t g) const {
  return std::ranges::all_of(values, [&](ValueId v) {
    const int32_t from = group_of(v);
    return from < 0 || from == g || position(*this, from) < position(*this, g);
  });
}

Reorder turn_in(const FuseGrouping& p, NodeId n, int32_t g) {
  const FuseCall& c = p.calls[n];
  const FuseGroup& group = p.groups.all[g];
  std::optional<Reorder> out;
  if (c.elements == group.elements && c.kind != FuseCall::Kind::fold)
    for (const auto& [v, read] : c.orders) {
      const auto known = group.orders.find(v);
      if (known == group.orders.end()) continue;
      const std::optional<Reorder> turn = known->second.then(read.inverse());
      if (turn && (!out || turn->is_same())) out = turn;
    }
  return out.value_or(Reorder(c.elements));
}

bool reads_as_group(const FuseGrouping& p, NodeId n, int32_t g, const Reorder& turn, ValueId v) {
  const FuseCall& c = p.calls[n];
  const FuseGroup& group = p.groups.all[g];
  const auto read = c.orders.find(v.v);
  const auto known = group.orders.find(v.v);
  if (read != c.orders.end() && known != group.orders.end() && c.elements == group.elements)
    return turn.then(read->second) == known->second;
  // What is known of a whole row is read in the order in which the rows are, and a row of another
  // length reads its own one, or else the group is split.
  if (!turn.is_same() && is_of_rows(p, v, group)) return true;
  if (has_own_length(p.graph, p.calls, n, group)) return true;
  return !contains(c.reordered_reads, v) && !contains(group.reordered_reads, v);
}

bool may_join(const FuseGrouping& p, NodeId n, int32_t g) {
  const FuseGroup& group = p.groups.all[g];
  const FuseCall& c = p.calls[n];
  size_t buffers = group.reads.size();
  for (const ValueId v : c.materialized_reads) buffers += p.group_of(v) != g;
  if (!are_few(p, group.nodes.size() + 1, group.calls + c.through, buffers)) return false;
  if (c.kernels_before - group.first_kernel > max_kernel_distance) return false;
  const Reorder turn = turn_in(p, n, g);
  for (const ValueId v : c.materialized_reads)
    if (p.group_of(v) == g && !reads_as_group(p, n, g, turn, v)) return false;
  if (group.is_turned && group.forms.empty() && c.kind == FuseCall::Kind::fold) return false;
  if (!turn.is_same() && !may_turn(p, n, g, turn)) return false;
  if (!fits_rows(p.graph, p.calls, p.costs, n, group)) return false;
  return p.is_known_at(c.materialized_reads, g) ? !is_too_early(p, n, g) : !is_read(p, g);
}

bool may_merge(const FuseGrouping& p, int32_t from, int32_t g) {
  const FuseGroup &a = p.groups.all[from], &b = p.groups.all[g];
  if (a.elements == 0 || b.elements == 0 || a.is_turned || b.is_turned) return false;
  for (const ValueId v : b.reordered_reads)
    if (p.group_of(v) == from) return false;
  if (!are_few(p, a.nodes.size() + b.nodes.size(), a.calls + b.calls,
               a.reads.size() + b.reads.size()))
    return false;
  if (std::max(a.last_kernel, b.last_kernel) - std::min(a.first_kernel, b.first_kernel) >
      max_kernel_distance)
    return false;
  if (position(p, from) > position(p, g) || !fit_rows_together(p, from, g)) return false;
  for (const int32_t r : a.readers)
    if (const int32_t reader = p.groups.find(r);
        reader != g && position(p, reader) < position(p, g))
      return false;
  if (!a.forms.empty() && !b.forms.empty())
    return a.elements == b.elements && rows_agree(p.costs, a.forms, b.forms);
  return a.elements == b.elements || (a.forms.empty() && is_small_part(p, from, g));
}

}  // namespace cleave
