#include "lower/fuse_limits.h"

#include <algorithm>

#include "lower/fuse_rows.h"

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

}  // namespace

bool FuseGrouping::is_known_at(const std::vector<ValueId>& values, int32_t g) const {
  return std::ranges::all_of(values, [&](ValueId v) {
    const int32_t from = group_of(v);
    return from < 0 || from == g || position(*this, from) < position(*this, g);
  });
}

bool may_join(const FuseGrouping& p, NodeId n, int32_t g) {
  const FuseGroup& group = p.groups.all[g];
  const FuseCall& c = p.calls[n];
  size_t buffers = group.reads.size();
  for (const ValueId v : c.materialized_reads) buffers += p.group_of(v) != g;
  if (!are_few(p, group.nodes.size() + 1, group.calls + c.through, buffers)) return false;
  if (c.kernels_before - group.first_kernel > max_kernel_distance) return false;
  for (const ValueId v : c.reordered_reads)
    if (p.group_of(v) == g) return false;
  if (!fits_rows(p.graph, p.calls, p.costs, n, group)) return false;
  return p.is_known_at(c.materialized_reads, g) ? !is_too_early(p, n, g) : !is_read(p, g);
}

bool may_merge(const FuseGrouping& p, int32_t from, int32_t g) {
  const FuseGroup &a = p.groups.all[from], &b = p.groups.all[g];
  if (a.elements == 0 || b.elements == 0) return false;
  for (const ValueId v : b.reordered_reads)
    if (p.group_of(v) == from) return false;
  if (!are_few(p, a.nodes.size() + b.nodes.size(), a.calls + b.calls,
               a.reads.size() + b.reads.size()))
    return false;
  if (b.last_kernel - a.first_kernel > max_kernel_distance) return false;
  if (position(p, from) > position(p, g)) return false;
  for (const int32_t r : a.readers)
    if (const int32_t reader = p.groups.find(r);
        reader != g && position(p, reader) < position(p, g))
      return false;
  if (!a.forms.empty() && !b.forms.empty())
    return a.elements == b.elements && rows_agree(a.forms, b.forms);
  return a.elements == b.elements || (a.forms.empty() && is_small_part(p, from, g));
}

}  // namespace cleave
