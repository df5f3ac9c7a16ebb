#include "lower/fuse_groups.h"

#include <algorithm>
#include <map>
#include <unordered_map>

#include "ir/edit.h"
#include "lower/fuse_limits.h"
#include "schedule/group_plan.h"

namespace cleave {
namespace {

constexpr size_t most_readers = 4;  // groups that a value is asked for

// Visits the calls in order and puts each into a group.
class Grouper {
 public:
  Grouper(const Graph& graph, const FuseCalls& calls, const FuseCosts& costs, FuseReaders readers)
      : p_{graph, calls, costs, repeated_calls(graph)}, readers_(readers) {
    p_.groups.by_node.assign(graph.node_capacity(), -1);
  }

  FuseGroups run() {
    for (const NodeId n : p_.calls.order)
      if (!p_.calls[n].is_through()) put(n);
    return std::move(p_.groups);
  }

 private:
  FuseGroup& group(int32_t g) { return p_.groups.all[g]; }
  bool is_open(int32_t g) const { return p_.groups.is_open(p_.calls, g); }

  void put(NodeId n);
  void begin(NodeId n);
  void join(NodeId n, int32_t g);
  void add_results(NodeId n, const Reorder& turn, FuseGroup& g) const;
  // The group whose joining saves the most bytes; -1: none.
  int32_t best_group(NodeId n) const;
  int64_t saved_bytes(NodeId n, int32_t g) const;
  // Large calls that share next to nothing stay apart: each can then run as soon as its operands
  // are made, and free them.
  bool is_worth_waiting(int64_t saved, int64_t elements) const {
    const int64_t bytes = elements * 4;
    return bytes <= p_.costs.launch_bytes || saved * 16 >= bytes;
  }
  // Merges the groups of its other operands into its group, where they may.
  void pull_producers(NodeId n);
  void note_reader(ValueId v, NodeId n);
  // The groups that read v last, the last one first.
  std::vector<int32_t> readers_of(ValueId v) const;
  // Merges groups that read what it reads into its own.
  void pull_readers(NodeId n);
  // Whether merging them saves reading v, and that is much beside all that they do.
  bool is_shared(ValueId v, int32_t a, int32_t b) const;
  void merge(int32_t from, int32_t to);

  FuseGrouping p_;
  FuseReaders readers_;
  std::unordered_map<uint32_t, std::vector<int32_t>> last_readers_;  // groups by value,
  std::map<std::pair<uint32_t, int64_t>, int32_t>
      last_of_size_;  // and of calls of so many elements
};

void Grouper::put(NodeId n) {
  const FuseCall& c = p_.calls[n];
  const int32_t best = c.has_open_group() ? best_group(n) : -1;
  if (best >= 0)
    join(n, best);
  else
    begin(n);
  const int32_t own = p_.groups.of(n);
  for (const ValueId v : c.materialized_reads) {
    const int32_t g = p_.group_of(v);
    if (g >= 0 && g != own) group(g).readers.push_back(own);
  }
  if (best >= 0) pull_producers(n);
  if (readers_.merged && c.has_open_group()) pull_readers(n);
  for (const ValueId v : c.materialized_reads)
    if (c.has_open_group()) note_reader(v, n);
}

void Grouper::note_reader(ValueId v, NodeId n) {
  const int32_t g = p_.groups.of(n);
  last_of_size_[{v.v, p_.calls[n].elements}] = g;
  std::vector<int32_t>& last = last_readers_[v.v];
  std::erase_if(last, [&](int32_t r) { return p_.groups.find(r) == g; });
  last.insert(last.begin(), g);
  if (last.size() > (readers_.merged ? most_readers : 1)) last.pop_back();
}

std::vector<int32_t> Grouper::readers_of(ValueId v) const {
  const auto found = last_readers_.find(v.v);
  return found == last_readers_.end() ? std::vector<int32_t>() : found->second;
}

void Grouper::begin(NodeId n) {
  const FuseCall& c = p_.calls[n];
  p_.groups.by_node[n.v] = static_cast<int32_t>(p_.groups.all.size());
  FuseGroup g;
  g.nodes = {n};
  g.at = n;
  g.elements = c.elements;
  g.calls = c.through;
  g.reads = c.materialized_reads;
  g.reordered_reads = c.reordered_reads;
  g.orders = c.orders;
  if (c.kind == FuseCall::Kind::elementwise) add_results(n, Reorder(c.elements), g);
  g.first_kernel = g.last_kernel = c.kernels_before;
  if (c.kind == FuseCall::Kind::fold)
    g.forms.push_back(*fold_form_of(p_.graph, n, p_.costs.choices.cut));
  p_.groups.all.push_back(std::move(g));
}

void Grouper::add_results(NodeId n, const Reorder& turn, FuseGroup& g) const {
  const Node& node = p_.graph.node(n);
  for (uint32_t k = 0; k < node.output_count; ++k) g.orders.emplace(node.out(k).v, turn);
}

void Grouper::join(NodeId n, int32_t g) {
  FuseGroup& to = group(g);
  const FuseCall& c = p_.calls[n];
  const Reorder turn = turn_in(p_, n, g);
  to.is_turned |= !turn.is_same();
  if (!p_.is_known_at(c.materialized_reads, g)) to.at = n;
  p_.groups.by_node[n.v] = g;
  to.nodes.push_back(n);
  to.calls += c.through;
  for (const ValueId v : c.materialized_reads) add_once(to.reads, v);
  for (const ValueId v : c.reordered_reads) add_once(to.reordered_reads, v);
  if (c.elements == to.elements) {
    for (const auto& [v, read] : c.orders)
      if (const std::optional<Reorder> order = turn.then(read)) to.orders.emplace(v, *order);
    if (c.kind == FuseCall::Kind::elementwise) add_results(n, turn, to);
  }
  to.last_kernel = c.kernels_before;
  if (c.kind == FuseCall::Kind::fold)
    to.forms.push_back(*fold_form_of(p_.graph, n, p_.costs.choices.cut));
}

int32_t Grouper::best_group(NodeId n) const {
  std::vector<int32_t> candidates;
  const auto consider = [&](int32_t g) {
    g = p_.groups.find(g);
    if (is_open(g) && std::ranges::find(candidates, g) == candidates.end()) candidates.push_back(g);
  };
  for (const ValueId v : p_.calls[n].materialized_reads) {
    consider(p_.group_of(v));
    for (const int32_t g : readers_of(v)) consider(g);
    if (!readers_.of_size) continue;
    if (const auto it = last_of_size_.find({v.v, p_.calls[n].elements}); it != last_of_size_.end())
      consider(it->second);
  }
  int32_t best = -1;
  int64_t most = 0;
  for (const int32_t g : candidates) {
    const int64_t saved = saved_bytes(n, g);
    if (saved <= most || !is_worth_waiting(saved, p_.calls[n].elements) || !may_join(p_, n, g))
      continue;
    best = g, most = saved;
  }
  return best;
}

int64_t Grouper::saved_bytes(NodeId n, int32_t g) const {
  const FuseCall& c = p_.calls[n];
  const FuseGroup& to = p_.groups.all[g];
  const Reorder turn = turn_in(p_, n, g);
  int64_t saved = 0;
  for (const ValueId v : c.materialized_reads) {
    const bool made = p_.group_of(v) == g;
    if (!made && !contains(to.reads, v)) continue;
    if (!reads_as_group(p_, n, g, turn, v)) continue;
    saved += std::min(bytes_of(p_.graph, v), c.elements * size_of(p_.graph.type(v).dtype));
    if (made && !p_.calls.returned[v.v] && p_.graph.use_count(v) == 1)
      saved += bytes_of(p_.graph, v);
  }
  return saved;
}

void Grouper::pull_producers(NodeId n) {
  for (const ValueId v : p_.calls[n].materialized_reads) {
    const int32_t g = p_.groups.of(n), from = p_.group_of(v);
    if (is_open(from) && from != g && may_merge(p_, from, g)) merge(from, g);
  }
}

bool Grouper::is_shared(ValueId v, int32_t a, int32_t b) const {
  const FuseGroup &one = p_.groups.all[a], &other = p_.groups.all[b];
  if (contains(one.reordered_reads, v) || contains(other.reordered_reads, v)) return false;
  return is_worth_waiting(bytes_of(p_.graph, v), std::max(one.elements, other.elements));
}

void Grouper::pull_readers(NodeId n) {
  for (const ValueId v : p_.calls[n].materialized_reads)
    for (const int32_t reader : readers_of(v)) {
      const int32_t own = p_.groups.of(n), other = p_.groups.find(reader);
      if (other == own || !is_shared(v, own, other)) continue;
      if (may_merge(p_, other, own))
        merge(other, own);
      else if (may_merge(p_, own, other))
        merge(own, other);
    }
}

void Grouper::merge(int32_t from, int32_t to) {
  FuseGroup &a = group(from), &b = group(to);
  std::vector<NodeId> nodes;
  std::ranges::merge(
      a.nodes, b.nodes, std::back_inserter(nodes), {},
      [&](NodeId n) { return p_.calls[n].position; },
      [&](NodeId n) { return p_.calls[n].position; });
  b.nodes = std::move(nodes);
  b.calls += a.calls;
  for (const ValueId v : a.reads) add_once(b.reads, v);
  for (const ValueId v : a.reordered_reads) add_once(b.reordered_reads, v);
  if (a.elements == b.elements) b.orders.insert(a.orders.begin(), a.orders.end());
  b.readers.insert(b.readers.end(), a.readers.begin(), a.readers.end());
  b.forms.insert(b.forms.end(), a.forms.begin(), a.forms.end());
  b.first_kernel = std::min(a.first_kernel, b.first_kernel);
  b.last_kernel = std::max(a.last_kernel, b.last_kernel);
  a.merged_into = to;
  a.nodes.clear();
}

}  // namespace

FuseGroups group_calls(const Graph& graph, const FuseCalls& calls, const FuseCosts& costs,
                       FuseReaders readers) {
  return Grouper(graph, calls, costs, readers).run();
}

bool is_read_outside(const Graph& graph, const FuseCalls& calls, const FuseGroups& groups,
                     ValueId v, int32_t g) {
  if (calls.returned[v.v]) return true;
  for (const Use& u : graph.uses(v)) {
    if (!calls.knows(u.node)) continue;  // a `fused` call, beside those it replaces
    if (!calls[u.node].is_through()) {
      if (groups.of(u.node) != g) return true;
      continue;
    }
    const Node& node = graph.node(u.node);
    for (uint32_t k = 0; k < node.output_count; ++k)
      if (is_read_outside(graph, calls, groups, node.out(k), g)) return true;
  }
  return false;
}

}  // namespace cleave
