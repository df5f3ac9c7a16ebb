#include "lower/fuser.h"

#include <algorithm>

#include "loop/kernel.h"
#include "lower/fuse_cost.h"
#include "schedule/group_plan.h"

namespace cleave {

using namespace fuse_cost;

int32_t Fuser::group_of(ValueId v) {
  const NodeId d = g_.value(v).def;
  return d.valid() ? find(call(d).group) : -1;
}

int32_t Fuser::find(int32_t g) const {
  while (g >= 0 && groups_[g].merged) g = moved_to_.at(g);
  return g;
}

void Fuser::place(NodeId n) {
  Call& c = call(n);
  if (is_through(n)) return;
  const int32_t best = c.kind == Kind::other ? -1 : best_group(n);
  if (best >= 0)
    join(n, best);
  else
    begin(n);
  const int32_t own = find(c.group);
  for (const ValueId v : c.materialized_reads) {
    const int32_t g = group_of(v);
    if (g >= 0 && g != own) groups_[g].readers.push_back(own);
    if (c.kind != Kind::other) last_reader_[v.v] = own;
  }
  if (best >= 0) pull_producers(n);
}

void Fuser::begin(NodeId n) {
  Call& c = call(n);
  c.group = static_cast<int32_t>(groups_.size());
  Group g;
  g.nodes = {n};
  g.at = n;
  g.elements = c.elements;
  g.calls = c.through;
  g.reads = c.materialized_reads;
  g.reordered_reads = c.reordered_reads;
  g.first_kernel = g.last_kernel = c.kernels_before;
  if (c.kind == Kind::fold) g.forms.push_back(*fold_form_of(g_, n));
  groups_.push_back(std::move(g));
}

int32_t Fuser::best_group(NodeId n) {
  std::vector<int32_t> candidates;
  const auto consider = [&](int32_t g) {
    g = find(g);
    if (is_group(g) && std::find(candidates.begin(), candidates.end(), g) == candidates.end())
      candidates.push_back(g);
  };
  for (const ValueId v : call(n).materialized_reads) {
    consider(group_of(v));
    if (const auto it = last_reader_.find(v.v); it != last_reader_.end()) consider(it->second);
  }
  int32_t best = -1;
  int64_t most = 0;
  for (const int32_t g : candidates) {
    const int64_t saved = saving(n, g);
    if (saved <= most || !is_worth_waiting(n, saved) || !may_join(n, g)) continue;
    best = g, most = saved;
  }
  return best;
}

bool Fuser::is_worth_waiting(NodeId n, int64_t saved) {
  const int64_t bytes = call(n).elements * 4;
  return bytes <= costs_.launch_bytes || saved * 16 >= bytes;
}

int64_t Fuser::saving(NodeId n, int32_t g) {
  int64_t saved = 0;
  for (const ValueId v : call(n).materialized_reads) {
    const bool made = group_of(v) == g;
    if (!made && !contains(groups_[g].reads, v)) continue;
    if (contains(call(n).reordered_reads, v) || contains(groups_[g].reordered_reads, v)) continue;
    saved += std::min(bytes_of(g_, v), call(n).elements * size_of(g_.type(v).dtype));
    if (made && !returned_.contains(v.v) && g_.use_count(v) == 1) saved += bytes_of(g_, v);
  }
  return saved;
}

bool Fuser::may_join(NodeId n, int32_t g) {
  Group& group = groups_[g];
  const Call& c = call(n);
  if (group.nodes.size() >= static_cast<size_t>(max_nodes)) return false;
  if (group.calls + c.through > max_calls) return false;
  if (c.kernels_before - group.first_kernel > max_kernel_distance) return false;
  if (!fits(n, group)) return false;
  for (const ValueId v : c.reordered_reads)
    if (group_of(v) == g) return false;
  size_t buffers = group.reads.size();
  for (const ValueId v : c.materialized_reads) buffers += group_of(v) != g;
  if (buffers > static_cast<size_t>(max_buffers)) return false;
  return is_known_at(c.materialized_reads, g) ? !is_too_early(n, g) : !is_read(g);
}

bool Fuser::is_too_early(NodeId n, int32_t g) {
  return repeated_[n.v] && call(groups_[g].at).kernels_before < call(n).kernels_before;
}

bool Fuser::is_known_at(const std::vector<ValueId>& values, int32_t g) {
  return std::all_of(values.begin(), values.end(), [&](ValueId v) {
    const int32_t from = group_of(v);
    return from < 0 || from == g || position(from) < position(g);
  });
}

bool Fuser::is_read(int32_t g) {
  return std::any_of(groups_[g].readers.begin(), groups_[g].readers.end(),
                     [&](int32_t r) { return find(r) != g; });
}

bool Fuser::fits(NodeId n, const Group& g) {
  const Call& c = call(n);
  if (c.kind == Kind::elementwise) {
    if (g.forms.empty()) return c.elements == g.elements;
    const FoldForm& f = g.forms[0];
    if (c.elements != g.elements && (f.kind == FoldForm::Kind::chunks || c.elements != f.results))
      return false;
    const bool reads_folded =
        std::any_of(c.materialized_reads.begin(), c.materialized_reads.end(), [&](ValueId v) {
          const NodeId d = g_.value(v).def;
          return d.valid() && call(d).kind == Kind::fold && &groups_[group_of(v)] == &g;
        });
    if (!reads_folded) return true;
    if (c.elements != g.elements && adds_up_parts(g) && !leads_to(n, g.elements)) return false;
    return keeps_row(g);
  }
  const FoldForm form = *fold_form_of(g_, n);
  if (c.elements != g.elements) return false;
  for (const FoldForm& f : g.forms)
    if (!agree(form, f)) return false;
  return true;
}

// Read in its own kernel, what columns fold to would be known after a pass over all rows, in place
// of parts of them.
bool Fuser::adds_up_parts(const Group& g) {
  return g.elements > small_elements &&
         std::all_of(g.forms.begin(), g.forms.end(),
                     [](const FoldForm& f) { return f.kind == FoldForm::Kind::columns; });
}

bool Fuser::leads_to(NodeId n, int64_t elements) {
  std::vector<NodeId> next = {n};
  for (size_t i = 0; i < next.size() && i < max_waiting; ++i) {
    const Node& node = g_.node(next[i]);
    for (uint32_t k = 0; k < node.output_count; ++k)
      for (const Use& u : g_.uses(node.out(k))) {
        if (!is_fusible(u.node)) continue;
        if (call(u.node).elements == elements && call(u.node).kind != Kind::view) return true;
        if (std::find(next.begin(), next.end(), u.node) == next.end()) next.push_back(u.node);
      }
  }
  return false;
}

bool Fuser::keeps_row(const Group& g) const {
  for (const FoldForm& f : g.forms) {
    if (f.kind == FoldForm::Kind::chunks) return false;
    if (f.kind == FoldForm::Kind::rows && f.count * 4 > costs_.row_bytes) return false;
    if (f.kind == FoldForm::Kind::columns && f.runs == g.forms[0].runs &&
        (f.count * loop::column_lanes * 4 > costs_.row_bytes ||
         (f.results < few_columns && g.elements > small_elements)))
      return false;
  }
  return true;
}

bool Fuser::agree(const FoldForm& a, const FoldForm& b) {
  using K = FoldForm::Kind;
  if (a.runs == b.runs) return a.kind == b.kind;
  if (a.kind == b.kind || a.kind == K::chunks || b.kind == K::chunks) return false;
  return a.runs.size() == 2 && b.runs.size() == 2 && a.runs[0].extent == b.runs[0].extent &&
         a.runs[1].extent == b.runs[1].extent;
}

void Fuser::join(NodeId n, int32_t g) {
  Group& group = groups_[g];
  Call& c = call(n);
  if (!is_known_at(c.materialized_reads, g)) group.at = n;
  c.group = g;
  group.nodes.push_back(n);
  group.calls += c.through;
  for (const ValueId v : c.materialized_reads) add(group.reads, v);
  for (const ValueId v : c.reordered_reads) add(group.reordered_reads, v);
  group.last_kernel = c.kernels_before;
  if (c.kind == Kind::fold) group.forms.push_back(*fold_form_of(g_, n));
}

void Fuser::pull_producers(NodeId n) {
  for (const ValueId v : std::vector<ValueId>(call(n).materialized_reads)) {
    const int32_t g = find(call(n).group), from = group_of(v);
    if (!is_group(from) || from == g) continue;
    if (merges(from, g)) merge(from, g);
  }
}

bool Fuser::merges(int32_t from, int32_t g) {
  const Group &a = groups_[from], &b = groups_[g];
  if (a.elements == 0 || b.elements == 0) return false;
  for (const ValueId v : b.reordered_reads)
    if (group_of(v) == from) return false;
  if (a.nodes.size() + b.nodes.size() > static_cast<size_t>(max_nodes)) return false;
  if (a.calls + b.calls > max_calls) return false;
  if (a.reads.size() + b.reads.size() > static_cast<size_t>(max_buffers)) return false;
  if (b.last_kernel - a.first_kernel > max_kernel_distance) return false;
  if (position(from) > position(g)) return false;
  for (const int32_t r : a.readers)
    if (const int32_t reader = find(r); reader != g && position(reader) < position(g)) return false;
  if (!a.forms.empty() && !b.forms.empty()) {
    if (a.elements != b.elements) return false;
    for (const FoldForm& f : a.forms)
      for (const FoldForm& h : b.forms)
        if (!agree(f, h)) return false;
  } else if (a.elements != b.elements && !(a.forms.empty() && is_small_part(from, g))) {
    return false;
  }
  return true;
}

bool Fuser::is_small_part(int32_t from, int32_t g) {
  int64_t flops = 0;
  for (const NodeId n : groups_[from].nodes) {
    const Node& node = g_.node(n);
    flops += call(n).flops;
    for (uint32_t k = 0; k < node.output_count; ++k)
      if (is_read_outside(node.out(k), g)) return false;
  }
  return is_worth_repeating(flops, groups_[from].elements, groups_[g].elements);
}

void Fuser::merge(int32_t from, int32_t to) {
  Group &a = groups_[from], &b = groups_[to];
  std::vector<NodeId> nodes;
  std::merge(a.nodes.begin(), a.nodes.end(), b.nodes.begin(), b.nodes.end(),
             std::back_inserter(nodes),
             [&](NodeId x, NodeId y) { return call(x).position < call(y).position; });
  b.nodes = std::move(nodes);
  b.calls += a.calls;
  for (const ValueId v : a.reads) add(b.reads, v);
  for (const ValueId v : a.reordered_reads) add(b.reordered_reads, v);
  b.readers.insert(b.readers.end(), a.readers.begin(), a.readers.end());
  b.forms.insert(b.forms.end(), a.forms.begin(), a.forms.end());
  b.first_kernel = std::min(a.first_kernel, b.first_kernel);
  a.merged = true;
  moved_to_[from] = to;
  a.nodes.clear();
}

}  // namespace cleave
