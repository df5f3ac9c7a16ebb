#include "lower/fuse_calls.h"

#include <algorithm>
#include <ranges>
#include <set>

#include "loop/lower_rule.h"
#include "lower/fuse_joins.h"
#include "schedule/own_loops.h"

namespace cleave {

using Kind = FuseCall::Kind;

int64_t bytes_of(const Graph& g, ValueId v) {
  return numel_of(static_shape(g.type(v))) * size_of(g.type(v).dtype);
}

bool contains(const std::vector<ValueId>& list, ValueId v) {
  return std::ranges::find(list, v) != list.end();
}

void add_once(std::vector<ValueId>& list, ValueId v) {
  if (!contains(list, v)) list.push_back(v);
}

namespace {

// Whether no tensor is read for it.
bool is_made_of_nothing(const Graph& g, ValueId v) {
  const NodeId d = g.value(v).def;
  return d.valid() && std::ranges::none_of(g.node(d).inputs, &ValueId::valid) &&
         g.node(d).op->lower.present() && loop::elementwise_rule(**g.node(d).op->lower, g.view(d));
}

// What it starts as is written by the same kernel. A copy of what is in memory, which may be
// dropped, is a kernel of its own.
bool has_own_loops(const Graph& g, NodeId n) {
  const loop::KernelRule* rule = own_loops(g, n);
  if (!rule) return false;
  const int start = start_of(*rule, g.view(n));
  return start < 0 || is_made_of_nothing(g, g.node(n).inputs[static_cast<size_t>(start)]);
}

// By the rule of its operator, and whether what it starts as is made of nothing.
Kind kind_of(const Graph& g, NodeId n) {
  const Node& node = g.node(n);
  if (!node.op->lower.present() || has(node.op->traits, Trait::effect)) return Kind::other;
  const auto& form = (*node.op->lower)->form;
  for (uint32_t k = 0; k < node.output_count; ++k)
    if (!g.type(node.out(k)).is_none && g.type(node.out(k)).dtype == DType::c64) return Kind::other;
  if (std::holds_alternative<loop::ViewRule>(form))
    return g.type(node.inputs[0]).dtype == g.type(node.out(0)).dtype ? Kind::view : Kind::other;
  if (std::holds_alternative<loop::ReductionRule>(form)) return Kind::fold;
  if (has_own_loops(g, n)) return Kind::own_loops;
  // Others have loops of their own, or loads that are in range only if a select takes them.
  const loop::ElementwiseRule* rule = loop::elementwise_rule(**node.op->lower, g.view(n));
  return rule && rule->in_range ? Kind::elementwise : Kind::other;
}

// Whether the view keeps the order of its operand's elements, maybe repeating some.
bool keeps_order(const Graph& g, NodeId n) {
  const OpView op = g.view(n);
  if (op.name() == "expand") return true;
  const loop::Layout in = loop::Layout::contiguous(static_shape(op.in_type(0)));
  const auto layout = std::get<loop::ViewRule>((*op.def().lower)->form).layout(op, in, 0);
  return g.node(n).output_count == 1 && layout && layout->is_contiguous() &&
         layout->numel() == in.numel();
}

bool every_reader_inlines(const Graph& g, const FuseCalls& calls, ValueId v) {
  for (const Use& u : g.uses(v)) {
    if (!calls[u.node].is_fusible()) return false;
    if (calls[u.node].kind != Kind::view) continue;
    for (uint32_t k = 0; k < g.node(u.node).output_count; ++k) {
      const ValueId w = g.node(u.node).out(k);
      if (calls.returned[w.v] || !every_reader_inlines(g, calls, w)) return false;
    }
  }
  return true;
}

// Describes all calls; `joins` are the joins that aren't fused.
class Describer {
 public:
  Describer(const Graph& graph, const FuseCosts& costs, const std::set<NodeId>& again)
      : g_(graph), costs_(costs), again_(again) {
    out_.order = graph.order();
    out_.by_node.resize(graph.node_capacity());
    out_.returned.resize(graph.value_capacity());
    for (const Return& r : graph.returns()) out_.returned[r.value.v] = true;
  }

  FuseCalls run(const std::set<NodeId>& joins) {
    int64_t kernels = 0, position = 0;
    for (const NodeId n : out_.order) {
      FuseCall& c = call(n);
      c.kind = joins.contains(n) ? Kind::other : kind_of(g_, n);
      c.position = position++;
      c.kernels_before = kernels += !c.has_open_group();
      for (const ValueId v : g_.node(n).inputs)
        if (const FuseCall* maker = v.valid() ? out_.maker_of(g_, v) : nullptr)
          c.depth = std::max(c.depth, maker->depth + !maker->is_fusible());
      const ValueId sized = sized_by(n);
      if (c.is_fusible()) c.elements = numel_of(static_shape(g_.type(sized)));
    }
    find_homes();
    for (const NodeId n : out_.order) {
      FuseCall& c = call(n);
      find_reads(n);
      if (c.kind != Kind::elementwise) continue;
      if (again_.contains(n) || is_cheap(n))
        c.kind = Kind::cheap;
      else if (waits(n))
        c.kind = Kind::waiting;
    }
    for (const NodeId n : std::views::reverse(out_.order)) call(n).is_folded = is_folded(n);
    return std::move(out_);
  }

 private:
  // The call that all readers of a call are computed with, directly or through views and others
  // that are; invalid: there are several, or one that isn't fused.
  struct Home {
    NodeId at;
    bool is_reordered = false;  // reads it, or some of them, in another order
  };

  FuseCall& call(NodeId n) { return out_.by_node[n.v]; }
  ValueId sized_by(NodeId n) const {
    const Node& node = g_.node(n);
    if (out_[n].kind == Kind::fold) return node.inputs[0];
    if (out_[n].kind != Kind::own_loops) return node.out(0);
    return node.inputs[static_cast<size_t>(own_loops(g_, n)->streamed(g_.view(n)))];
  }
  void find_homes();
  Home home_among_readers(NodeId n) const;
  void find_reads(NodeId n);
  bool is_folded(NodeId n) const;
  // Whether it is computed wherever it is read: few flops, for an element or in all, and operands
  // that are hardly larger than the result.
  bool is_cheap(NodeId n) const;
  // Whether a reader of it waits for an unfused call that its maker doesn't wait for, and so isn't
  // in the maker's group: a residual stream, which a norm reads and the next block adds to.
  bool is_stored_anyway(ValueId v) const;
  // Whether it is computed in the group of its only reader, which reads it directly or through
  // views; or in its home, which reads it in another order, so that they can't be in one group.
  bool waits(NodeId n) const;
  bool is_stored_for(NodeId n, NodeId reader) const;
  // Whether it may be computed in another order than its operands lie in. Its result would be read
  // in that order else; more than that has to stay in the cache.
  bool may_be_reordered(NodeId n) const;

  // Whether own loops, which are slower and read nothing else, may compute it: its operands are no
  // more than what writing and reading it moves, and stay in a cache, as such loops read a few
  // columns at a time. Rows of 256, 4096 cosines of them, took 1.6 ms in place of 1.1 (Zen 5).
  bool may_wait_for_loops(NodeId n) const;

  const Graph& g_;
  const FuseCosts& costs_;
  const std::set<NodeId>& again_;
  FuseCalls out_;
  std::vector<Home> homes_;  // by node
};

void Describer::find_homes() {
  homes_.resize(g_.node_capacity());
  for (const NodeId n : std::views::reverse(out_.order))
    if (const Kind k = out_[n].kind; k == Kind::view || k == Kind::elementwise)
      homes_[n.v] = home_among_readers(n);
}

Describer::Home Describer::home_among_readers(NodeId n) const {
  const Node& node = g_.node(n);
  const ValueId y = node.out(0);
  if (node.output_count != 1 || out_.returned[y.v]) return {};
  Home out;
  for (const Use& u : g_.uses(y)) {
    const FuseCall& reader = out_[u.node];
    Home of_reader = homes_[u.node.v];
    if (!reader.is_fusible() || (reader.kind == Kind::view && !of_reader.at.valid())) return {};
    if (!of_reader.at.valid()) of_reader.at = u.node;
    if (out.at.valid() && out.at != of_reader.at) return {};
    out.at = of_reader.at;
    out.is_reordered |= of_reader.is_reordered;
  }
  if (out_[n].kind == Kind::view && out.at.valid() && !keeps_order(g_, n)) out.is_reordered = true;
  return out;
}

void Describer::find_reads(NodeId n) {
  FuseCall& c = call(n);
  const auto of_operand = [&](ValueId v) {
    const FuseCall* maker = out_.maker_of(g_, v);
    if (maker && maker->is_through()) return maker->orders;
    return ReadOrders{{v.v, Reorder(numel_of(static_shape(g_.type(v))))}};
  };
  if (c.kind == Kind::view || c.kind == Kind::elementwise)
    c.orders = read_orders(g_, n, of_operand);
  if (c.kind == Kind::fold) c.orders = of_operand(g_.node(n).inputs[0]);
  for (const ValueId v : g_.node(n).inputs) {
    if (!v.valid()) continue;
    const FuseCall* maker = out_.maker_of(g_, v);
    if (!maker || !maker->is_through()) {
      add_once(c.materialized_reads, v);
      continue;
    }
    const bool reordered = maker->kind == Kind::view && !keeps_order(g_, g_.value(v).def);
    for (const ValueId read : maker->materialized_reads) {
      add_once(c.materialized_reads, read);
      if (reordered || contains(maker->reordered_reads, read)) add_once(c.reordered_reads, read);
    }
    c.flops += maker->flops;
    c.through += maker->through;
  }
  if (c.kind != Kind::elementwise) return;
  const OpView op = g_.view(n);
  c.flops += (*op.def().cost)(op).flops / std::max<int64_t>(c.elements, 1);
}

bool Describer::is_folded(NodeId n) const {
  const Node& node = g_.node(n);
  for (uint32_t k = 0; k < node.output_count; ++k)
    for (const Use& u : g_.uses(node.out(k))) {
      const FuseCall& reader = out_[u.node];
      if (reader.kind == Kind::fold || (reader.is_through() && reader.is_folded)) return true;
    }
  return false;
}

bool Describer::is_cheap(NodeId n) const {
  const Node& node = g_.node(n);
  const FuseCall& c = out_[n];
  if (!may_repeat(g_, out_, n)) return false;
  const bool is_dear = c.flops > costs_.cheap_flops;
  if (is_dear && c.flops * c.elements * fuse_cost::small_part > costs_.launch_flops) return false;
  // Few elements, as of a table, may have many readers.
  if (is_dear && std::ranges::any_of(g_.uses(node.out(0)), [&](const Use& u) {
        return !costs_.is_worth_repeating(c.flops, c.elements, out_[u.node].elements);
      }))
    return false;
  const int64_t own_bytes = bytes_of(g_, node.out(0));
  int64_t bytes = 0;
  for (const ValueId v : c.materialized_reads) {
    // A fused operand is stored for this call's sake: worth it if small, as one value per row is.
    const FuseCall* maker = out_.maker_of(g_, v);
    if (maker && maker->is_fusible() &&
        (is_dear || (bytes_of(g_, v) * costs_.stored_part > own_bytes && !is_stored_anyway(v))))
      return false;
    bytes += bytes_of(g_, v);
  }
  // Elsewhere than in a cache, what is read where data tells is slower than what was read so once.
  if (has(node.op->traits, Trait::data_dependent) && bytes > costs_.row_bytes) return false;
  return bytes <= own_bytes + own_bytes / 4;
}

bool Describer::is_stored_anyway(ValueId v) const {
  const int64_t depth = out_.maker_of(g_, v)->depth;
  return std::ranges::any_of(g_.uses(v), [&](const Use& u) { return out_[u.node].depth > depth; });
}

bool Describer::may_be_reordered(NodeId n) const {
  int64_t more = -bytes_of(g_, g_.node(n).out(0));
  for (const ValueId v : out_[n].materialized_reads) more += bytes_of(g_, v);
  return more <= costs_.row_bytes;
}

bool Describer::may_wait_for_loops(NodeId n) const {
  const FuseCall& c = out_[n];
  int64_t bytes = 0;
  for (const ValueId v : c.materialized_reads) bytes += bytes_of(g_, v);
  return bytes <= std::min(2 * bytes_of(g_, g_.node(n).out(0)), costs_.row_bytes) &&
         costs_.is_worth_repeating(c.flops, c.elements, 2 * c.elements);
}

// Whether several calls, perhaps of several groups, read what its reader makes of it, and it takes
// less memory itself.
bool Describer::is_stored_for(NodeId n, NodeId reader) const {
  const ValueId made = g_.node(reader).out(0);
  return out_[reader].kind == Kind::elementwise && g_.use_count(made) > 1 &&
         bytes_of(g_, g_.node(n).out(0)) * costs_.stored_part <= bytes_of(g_, made);
}

bool Describer::waits(NodeId n) const {
  const Node& node = g_.node(n);
  const FuseCall& c = out_[n];
  if (node.output_count != 1 || c.through > fuse_cost::max_waiting) return false;
  const auto may_wait_for = [&](const FuseCall& reader) {
    if (reader.kind == Kind::own_loops && !may_wait_for_loops(n)) return false;
    return reader.kernels_before - c.kernels_before <= fuse_cost::max_kernel_distance &&
           costs_.is_worth_repeating(c.flops, c.elements, reader.elements);
  };
  if (const Home& home = homes_[n.v]; home.is_reordered)
    return may_be_reordered(n) && may_wait_for(out_[home.at]);
  ValueId v = node.out(0);
  for (;;) {
    if (out_.returned[v.v] || g_.use_count(v) != 1) return false;
    const NodeId u = g_.uses(v)[0].node;
    const FuseCall& reader = out_[u];
    if (!reader.is_fusible()) return false;
    if (reader.kind == Kind::view) {
      if (g_.node(u).output_count != 1) return false;
      v = g_.node(u).out(0);
      continue;
    }
    return !is_stored_for(n, u) && may_wait_for(reader);
  }
}

}  // namespace

bool may_repeat(const Graph& g, const FuseCalls& calls, NodeId n) {
  const Node& node = g.node(n);
  const ValueId y = node.out(0);
  return node.output_count == 1 && !has(node.op->traits, Trait::random) && !calls.returned[y.v] &&
         every_reader_inlines(g, calls, y);
}

FuseCalls describe_calls(const Graph& graph, const FuseCosts& costs,
                         const std::set<NodeId>& again) {
  // When a join isn't fused, joins among its operands may no longer be either.
  constexpr int max_rounds = 4;
  std::set<NodeId> joins;
  FuseCalls calls = Describer(graph, costs, again).run(joins);
  for (int round = 0; round < max_rounds; ++round) {
    const std::vector<NodeId> found = find_placed_joins(graph, calls, costs);
    if (found.empty()) break;
    joins.insert(found.begin(), found.end());
    calls = Describer(graph, costs, again).run(joins);
  }
  return calls;
}

}  // namespace cleave
