#include "lower/fuse_rows.h"

#include <algorithm>

#include "loop/kernel.h"
#include "schedule/group_plan.h"

namespace cleave {

using namespace fuse_cost;
using Fold = FoldForm::Kind;

namespace {

constexpr int64_t most_lengths = 4;  // of its row in another one

bool agree(const FuseCosts& costs, const FoldForm& a, const FoldForm& b) {
  if (a.runs == b.runs) return a.kind == b.kind;
  if (a.kind == b.kind || a.kind == Fold::chunks || b.kind == Fold::chunks) return false;
  return a.runs.size() == 2 && b.runs.size() == 2 && a.runs[0].extent == b.runs[0].extent &&
         a.runs[1].extent == b.runs[1].extent && a.runs[0].extent >= costs.least_rows_of_columns &&
         a.runs[1].extent <= costs.most_columns_of_rows;
}

bool reads_fold_of(const Graph& g, const FuseCalls& calls, const FuseCall& call,
                   const FuseGroup& group) {
  return std::ranges::any_of(call.materialized_reads, [&](ValueId v) {
    const FuseCall* maker = calls.maker_of(g, v);
    return maker && maker->kind == FuseCall::Kind::fold &&
           std::ranges::find(group.nodes, g.value(v).def) != group.nodes.end();
  });
}

// Whether the group has column folds alone, which can be computed as partial sums over blocks of
// rows. A reader in the same kernel would prevent that: it needs the results of all rows first.
bool adds_up_parts(const FuseGroup& group, const FuseCosts& costs) {
  return group.elements > costs.small_elements &&
         std::ranges::all_of(group.forms,
                             [](const FoldForm& f) { return f.kind == Fold::columns; });
}

// Whether a call of `elements` elements reads the result of n, directly or through others.
bool leads_to(const Graph& g, const FuseCalls& calls, NodeId n, int64_t elements) {
  std::vector<NodeId> next = {n};
  for (size_t i = 0; i < next.size() && i < max_waiting; ++i) {
    const Node& node = g.node(next[i]);
    for (uint32_t k = 0; k < node.output_count; ++k)
      for (const Use& u : g.uses(node.out(k))) {
        const FuseCall& reader = calls[u.node];
        if (!reader.has_open_group()) continue;
        if (reader.elements == elements && reader.kind != FuseCall::Kind::view) return true;
        if (std::ranges::find(next, u.node) == next.end()) next.push_back(u.node);
      }
  }
  return false;
}

// Whether the results of the group's folds can be read while the row is still in the cache.
bool keeps_row(const FuseGroup& group, const FuseCosts& costs) {
  for (const FoldForm& f : group.forms) {
    if (f.kind == Fold::chunks) return false;
    if (f.kind == Fold::rows && f.count * 4 > costs.row_bytes) return false;
    if (f.kind == Fold::columns && f.runs == group.forms[0].runs &&
        (f.count * loop::column_lanes * 4 > costs.row_bytes ||
         (f.results < costs.few_columns && group.elements > costs.small_elements)))
      return false;
  }
  return true;
}

}  // namespace

bool has_whole_rows(const FuseGroup& group) {
  return !group.forms.empty() && group.elements > 0 &&
         Frame::of(group.forms[0], false).has_whole_rows() &&
         std::ranges::all_of(group.forms, [](const FoldForm& f) { return f.kind == Fold::rows; });
}

bool has_own_length(const Graph& graph, const FuseCalls& calls, NodeId n, const FuseGroup& group) {
  const FuseCall& c = calls[n];
  if (c.kind != FuseCall::Kind::elementwise || !has_whole_rows(group)) return false;
  const int64_t rows = group.forms[0].results;
  // What reads the one sum of a tensor, a loss, is no row of it.
  if (rows == 1 || c.elements == group.elements || c.elements == rows ||
      c.elements > most_lengths * group.elements)
    return false;
  // Others that share an operand would wait for the group, and keep what they read.
  const auto is_made_here = [&](ValueId v) {
    return std::ranges::find(group.nodes, graph.value(v).def) != group.nodes.end();
  };
  if (std::ranges::none_of(c.materialized_reads, is_made_here)) return false;
  int64_t outer = 1;
  for (const Dim& d : graph.type(graph.node(n).out(0)).shape)
    if (outer < rows) outer *= d.value();
  return outer == rows;
}

bool rows_agree(const FuseCosts& costs, const std::vector<FoldForm>& a,
                const std::vector<FoldForm>& b) {
  return std::ranges::all_of(a, [&](const FoldForm& x) {
    return std::ranges::all_of(b, [&](const FoldForm& y) { return agree(costs, x, y); });
  });
}

bool fits_rows(const Graph& graph, const FuseCalls& calls, const FuseCosts& costs, NodeId n,
               const FuseGroup& group) {
  const FuseCall& c = calls[n];
  if (c.kind == FuseCall::Kind::fold)
    return c.elements == group.elements &&
           rows_agree(costs, {*fold_form_of(graph, n, costs.choices.cut)}, group.forms);
  if (group.forms.empty()) return c.elements == group.elements;
  const FoldForm& f = group.forms[0];
  const bool is_full = c.elements == group.elements;
  if (has_own_length(graph, calls, n, group)) return keeps_row(group, costs);
  if (!is_full && (f.kind == Fold::chunks || c.elements != f.results)) return false;
  if (!reads_fold_of(graph, calls, c, group)) return true;
  if (!is_full && adds_up_parts(group, costs) && !leads_to(graph, calls, n, group.elements))
    return false;
  return keeps_row(group, costs);
}

}  // namespace cleave
