// Moves calls down to the first of their users, to shorten live ranges.
//
//   %c = full(...)   %a = ...   %b = ...   %y = add(%b, %c)
//     ->  %a = ...   %b = ...   %c = full(...)   %y = add(%b, %c)
//
// From the last call up: a call whose users have all been visited moves to just before the first of
// them, unless that would extend live ranges of operands that are larger than the call's results.
// Chains move as a whole. The new order is taken only if its peak of live bytes is below that of
// the old order, and the pass repeats while that helps. The peak counts the sizes of values from
// their definition to their last use; a view counts as its base. Collectives keep their scheduled
// places, and if the graph has a call with an effect, nothing moves.
#include <algorithm>

#include "pass/call_order.h"
#include "pass/passes.h"

namespace cleave {
namespace {

// The live memory by the bytes of values; a symbolic size counts as its hint.
class LiveBytes {
 public:
  explicit LiveBytes(const Graph& g) : g_(g), base_(g.value_capacity()), is_kept_(base_.size()) {
    for (const Placeholder& p : g.placeholders()) {
      base_[p.value.v] = p.value;
      is_kept_[p.value.v] = true;
    }
    for (NodeId n = g.first_node(); n.valid(); n = g.next_node(n)) {
      const Node& node = g.node(n);
      const bool is_view = has(node.op->traits, Trait::view) && !node.inputs.empty() &&
                           node.inputs[0].valid() && !node.inputs[0].is_number();
      for (uint32_t k = 0; k < node.output_count; ++k)
        base_[node.out(k).v] = is_view ? base_[node.inputs[0].v] : node.out(k);
    }
    for (const Return& r : g.returns())
      if (r.value.valid()) is_kept_[base_[r.value.v].v] = true;
  }

  ValueId base(ValueId v) const { return base_[v.v]; }
  // Whether the base of v is a placeholder or returned.
  bool is_kept(ValueId v) const { return is_kept_[base_[v.v].v]; }
  int64_t bytes(ValueId v) const {
    const Type& t = g_.type(v);
    return t.is_none ? 0 : g_.env().hint_of(t.numel()) * size_of(t.dtype);
  }

  // The maximum of live bytes in the current order of calls.
  int64_t peak() const {
    std::vector<NodeId> last(base_.size());
    for (NodeId n = g_.first_node(); n.valid(); n = g_.next_node(n))
      for (const ValueId v : g_.node(n).inputs)
        if (v.valid() && !v.is_number()) last[base_[v.v].v] = n;
    int64_t live = 0, most = 0;
    for (NodeId n = g_.first_node(); n.valid(); n = g_.next_node(n)) {
      const Node& node = g_.node(n);
      Values ends;
      for (uint32_t k = 0; k < node.output_count; ++k) {
        const ValueId v = node.out(k);
        if (base_[v.v] != v) continue;
        live += bytes(v);
        if (!last[v.v].valid()) ends.push_back(v);
      }
      most = std::max(most, live);
      for (const ValueId v : node.inputs)
        if (v.valid() && !v.is_number() && last[base_[v.v].v] == n) ends.push_back(base_[v.v]);
      std::ranges::sort(ends);
      const auto rest = std::ranges::unique(ends);
      ends.erase(rest.begin(), rest.end());
      for (const ValueId v : ends)
        if (!is_kept_[v.v]) live -= bytes(v);
    }
    return most;
  }

 private:
  const Graph& g_;
  Values base_;
  std::vector<bool> is_kept_;
};

class Mover {
 public:
  explicit Mover(Graph& g)
      : g_(g), live_(g), unseen_(g.node_capacity()), seen_(g.value_capacity()) {
    for (NodeId n = g.first_node(); n.valid(); n = g.next_node(n))
      for (const NodeId d : operands(n)) ++unseen_[d.v];
  }

  int64_t peak() const { return live_.peak(); }

  int64_t run() {
    int64_t moved = 0;
    for (NodeId n = g_.last_node(); n.valid(); n = g_.prev_node(n)) {
      const std::vector<NodeId> from = operands(n);
      for (const ValueId v : g_.node(n).inputs)
        if (v.valid() && !v.is_number()) seen_[live_.base(v).v] = true;
      for (const NodeId d : from) {
        if (--unseen_[d.v] > 0 || g_.next_node(d) == n || !pays(d)) continue;
        g_.move_before(d, n);
        ++moved;
      }
    }
    return moved;
  }

 private:
  // The calls that define n's operands, each once.
  std::vector<NodeId> operands(NodeId n) const {
    std::vector<NodeId> out;
    for (const ValueId v : g_.node(n).inputs)
      if (v.valid() && !v.is_number() && g_.value(v).def.valid() &&
          std::ranges::find(out, g_.value(v).def) == out.end())
        out.push_back(g_.value(v).def);
    return out;
  }

  // Moving d down shortens the live ranges of its results, and extends those of operands without a
  // later use. Operands used by d alone don't count, since their definitions can move along.
  bool pays(NodeId d) const {
    int64_t gain = 0;
    const Node& node = g_.node(d);
    if (has(node.op->traits, Trait::collective)) return false;
    for (uint32_t k = 0; k < node.output_count; ++k)
      if (live_.base(node.out(k)) == node.out(k)) gain += live_.bytes(node.out(k));
    for (const ValueId v : node.inputs) {
      if (!v.valid() || v.is_number() || live_.is_kept(v)) continue;
      const ValueId base = live_.base(v);
      if (!seen_[base.v] && g_.use_count(v) > 1) gain -= live_.bytes(base);
    }
    return gain >= 0;
  }

  Graph& g_;
  LiveBytes live_;
  std::vector<int64_t> unseen_;  // users of a call's results further up
  std::vector<bool> seen_;       // values used by a call further down
};

Result<PassCount> run(Graph& g, const OpRegistry&) {
  PassCount count;
  if (has_effect(g)) return count;
  while (true) {
    const std::vector<NodeId> before = g.order();
    Mover mover(g);
    const int64_t peak = mover.peak();
    const int64_t moved = mover.run();
    if (mover.peak() >= peak) {
      CLEAVE_CHECK(g.reorder(before));
      return count;
    }
    count.matches += moved;
    count.nodes += moved;
  }
}

}  // namespace

Pass move_to_readers() {
  return {.name = "move_to_readers",
          .summary = "calls move down to the first of their readers where that lowers the peak",
          .run = run};
}

}  // namespace cleave
