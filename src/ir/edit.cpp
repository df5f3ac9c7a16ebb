// Dead code and common subexpression elimination, each in one pass over the nodes.
#include "ir/edit.h"

#include <algorithm>

#include "ir/subgraph.h"

namespace cleave {
namespace {

int64_t drop_dead_code(Graph& g) {
  std::vector<bool> needed(g.node_capacity());
  std::vector<NodeId> pending;
  auto need = [&](NodeId n) {
    if (!n.valid() || needed[n.v]) return;
    needed[n.v] = true;
    pending.push_back(n);
  };
  for (const Return& r : g.returns())
    if (r.value.valid()) need(g.value(r.value).def);
  for (NodeId n = g.first_node(); n.valid(); n = g.next_node(n))
    if (has(traits_of(g.node(n)), Trait::effect)) need(n);
  while (!pending.empty()) {
    const NodeId n = pending.back();
    pending.pop_back();
    for (ValueId v : g.node(n).inputs)
      if (v.valid()) need(g.value(v).def);
  }
  int64_t erased = 0;
  for (NodeId n = g.last_node(); n.valid();) {
    const NodeId before = g.prev_node(n);
    if (!needed[n.v]) {
      g.erase(n);
      ++erased;
    }
    n = before;
  }
  return erased;
}

// The same edit for the subgraphs of g.
int64_t in_subgraphs(Graph& g, int64_t (*edit)(Graph&)) {
  int64_t count = 0;
  value_or_bug(rewrite_subgraphs(g, [&](Graph& sub) -> Result<bool> {
    const int64_t here = edit(sub);
    count += here;
    return here > 0;
  }));
  return count;
}

uint64_t mixed(uint64_t h, uint64_t x) {
  h = (h ^ x) * 0x9e3779b97f4a7c15u;
  return h ^ (h >> 32);
}

// The calls seen so far, by hash: open addressing, at most half full. Hashes include addresses,
// which affect only where an entry is stored, never which call survives.
class CallTable {
 public:
  explicit CallTable(const Graph& g) : g_(g) {
    size_t size = 16;
    while (size < 2 * g.node_count()) size *= 2;
    slots_.resize(size);
  }
  // Returns the first equal call; if there is none, keeps n and returns it.
  NodeId find_or_keep(NodeId n) {
    const uint64_t h = hash_of(n);
    for (size_t i = h & (slots_.size() - 1);; i = (i + 1) & (slots_.size() - 1)) {
      Slot& slot = slots_[i];
      if (!slot.node.valid()) {
        slot = {static_cast<uint32_t>(h >> 32), n};
        return n;
      }
      if (slot.hash == static_cast<uint32_t>(h >> 32) && are_equal(slot.node, n)) return slot.node;
    }
  }

 protected:
  // What calls are compared by, besides operators, attributes and result types.
  virtual ValueId operand(ValueId v) const { return v; }
  virtual CheckpointTag tag(const Node& n) const { return n.tag; }

 private:
  struct Slot {
    uint32_t hash = 0;
    NodeId node;
  };

  uint64_t hash_of(NodeId id) const {
    const Node& n = g_.node(id);
    uint64_t h = mixed(reinterpret_cast<uintptr_t>(n.op), n.list_size);
    for (ValueId v : n.inputs) h = mixed(h, operand(v).v);
    const CheckpointTag t = tag(n);
    h = mixed(h, static_cast<uint64_t>(t.ac_graph) * 8 + static_cast<uint64_t>(t.policy));
    return mixed(h, n.attrs.hash());
  }

  // Result types must be equal too: if the text fixes strides for one of two calls, they aren't
  // merged.
  bool are_equal(NodeId m, NodeId n) const {
    const Node &x = g_.node(m), &y = g_.node(n);
    const auto same = [this](ValueId a, ValueId b) { return operand(a) == operand(b); };
    if (x.op != y.op || x.list_size != y.list_size ||
        !std::ranges::equal(x.inputs, y.inputs, same) || !(tag(x) == tag(y)) ||
        x.output_count != y.output_count || !(x.attrs == y.attrs))
      return false;
    for (uint32_t k = 0; k < x.output_count; ++k)
      if (!(g_.type(x.out(k)) == g_.type(y.out(k)))) return false;
    return true;
  }

  const Graph& g_;
  std::vector<Slot> slots_;
};

int64_t merge_equal_calls(Graph& g, const std::function<bool(NodeId)>& may_merge) {
  CallTable calls(g);
  std::vector<ValueId> survivor(g.value_capacity());  // replaces a merged result; else invalid
  int64_t merged = 0;
  for (NodeId n = g.first_node(); n.valid();) {
    const NodeId after = g.next_node(n);
    const Node& node = g.node(n);
    const Trait traits = traits_of(node);
    const bool own =
        has(traits, Trait::random) || has(traits, Trait::effect) || (may_merge && !may_merge(n));
    if (const NodeId first = own ? n : calls.find_or_keep(n); first != n) {
      for (uint32_t k = 0; k < node.output_count; ++k) {
        survivor[node.out(k).v] = g.node(first).out(k);
        for (const Use& u : g.uses(node.out(k)))
          g.set_input(u.node, u.operand, g.node(first).out(k));
      }
      g.erase(n);
      ++merged;
    }
    n = after;
  }
  if (merged == 0) return 0;
  std::vector<Return> returns = g.returns();
  for (Return& r : returns)
    if (r.value.valid() && survivor[r.value.v].valid()) r.value = survivor[r.value.v];
  g.set_returns(std::move(returns));
  return merged;
}

// Finds calls that recompute the result of an earlier call on the same or equal operands.
class RepeatTable : public CallTable {
 public:
  explicit RepeatTable(const Graph& g) : CallTable(g), first_(g.value_capacity()) {}
  void set_first(ValueId v, ValueId first) { first_[v.v] = first; }

 protected:
  ValueId operand(ValueId v) const override {
    return v.valid() && first_[v.v].valid() ? first_[v.v] : v;
  }
  CheckpointTag tag(const Node&) const override { return {}; }

 private:
  std::vector<ValueId> first_;  // by value: the first equal one; invalid: the value itself
};

}  // namespace

std::vector<bool> repeated_calls(const Graph& g) {
  std::vector<bool> repeated(g.node_capacity());
  RepeatTable calls(g);
  for (NodeId n = g.first_node(); n.valid(); n = g.next_node(n)) {
    if (has(traits_of(g.node(n)), Trait::effect)) continue;
    const NodeId first = calls.find_or_keep(n);
    if (first == n) continue;
    repeated[n.v] = true;
    for (uint32_t k = 0; k < g.node(n).output_count; ++k)
      calls.set_first(g.node(n).out(k), g.node(first).out(k));
  }
  return repeated;
}

int64_t eliminate_dead_code(Graph& g) {
  const int64_t erased = drop_dead_code(g);
  return erased + in_subgraphs(g, drop_dead_code);
}

int64_t eliminate_common_subexpressions(Graph& g, const std::function<bool(NodeId)>& may_merge) {
  const int64_t merged = in_subgraphs(g, [](Graph& sub) { return merge_equal_calls(sub, {}); });
  return merged + merge_equal_calls(g, may_merge);
}

}  // namespace cleave
