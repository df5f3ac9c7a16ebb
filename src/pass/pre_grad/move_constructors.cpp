// Makes on the device what is made on the CPU for it alone.
//
//   %r = arange(; end=4)                       : i64[4]
//   %s = add(%r; other=1)                      : i64[4]
//   %y = index(%x, [%s])                       : f32[4,8]@cuda:0      of %x: f32[9,8]@cuda:0
//   ->
//   %r = arange(; end=4, device="cuda:0")      : i64[4]@cuda:0        and so is %s
//
// A constructor on the CPU may move, and so may a call whose operands all may, 0-d tensors aside.
// What a call reads of several constructors moves together or not at all (equal). One stays, and
// all with it, if a reader
//
//   is `return`, which gives a value where it is
//   is a call on the CPU with an operand that stays
//   is on the device, and its operand has dims and may not be on the CPU (ir/host_operands.h)
//   has a subgraph, an effect, or belongs to the host program
//
// The graph has values on one device beside the CPU. Values and their order don't change.
// Source: ConstructorMoverPass of torch/_inductor/fx_passes/post_grad.py, PyTorch 2.13, which
// counts for each call the operands that haven't moved; here calls come in order, so those in front
// are known.
#include <algorithm>
#include <numeric>
#include <optional>

#include "ir/host_operands.h"
#include "pass/passes.h"

namespace cleave {
namespace {

// The device of all values that aren't on the CPU; none if there are several.
std::optional<Device> device_beside_cpu(const Graph& g) {
  std::optional<Device> found;
  bool is_one = true;
  const auto look = [&](ValueId v) {
    const Type& t = g.type(v);
    if (t.is_none || t.device.is_cpu()) return;
    is_one &= !found || *found == t.device;
    found = t.device;
  };
  for (const Placeholder& p : g.placeholders()) look(p.value);
  for (NodeId n = g.first_node(); n.valid(); n = g.next_node(n))
    for (uint32_t k = 0; k < g.node(n).output_count; ++k) look(g.node(n).out(k));
  return is_one ? found : std::nullopt;
}

bool has_subgraph(const Node& node) {
  return std::ranges::any_of(
      node.attrs.given(), [](const auto& given) { return given.second.template get<GraphRef>(); });
}

class Movable {
 public:
  explicit Movable(const Graph& g) : g_(g), set_(g.node_capacity()), stays_(g.node_capacity()) {
    std::iota(set_.begin(), set_.end(), 0U);
    may_move_.resize(g.node_capacity());
    for (NodeId n = g.first_node(); n.valid(); n = g.next_node(n)) look(n);
    for (const Return& r : g.returns()) keep(r.value);
  }

  std::vector<NodeId> constructors() {
    std::vector<NodeId> out;
    for (NodeId n = g_.first_node(); n.valid(); n = g_.next_node(n))
      if (may_move_[n.v] && g_.node(n).inputs.empty() && !stays_[set_of(n)]) out.push_back(n);
    return out;
  }

 private:
  bool is_on_cpu(NodeId n) const {
    for (uint32_t k = 0; k < g_.node(n).output_count; ++k)
      if (const Type& t = g_.type(g_.node(n).out(k)); !t.is_none && !t.device.is_cpu())
        return false;
    return true;
  }

  // The call that may move and gives the value; invalid if there is none.
  NodeId mover_of(ValueId v) const {
    const NodeId n = v.valid() ? g_.value(v).def : NodeId();
    return n.valid() && may_move_[n.v] ? n : NodeId();
  }

  void look(NodeId n) {
    const Node& node = g_.node(n);
    const bool is_here = is_on_cpu(n);
    const bool is_tied = has_subgraph(node) || has(node.op->traits, Trait::effect) ||
                         has(node.op->traits, Trait::collective) || node.op->file.empty();
    may_move_[n.v] = is_here && !is_tied && !is_placed(node) && operands_move(node);
    const OpView op = g_.view(n);
    for (size_t k = 0; k < node.inputs.size(); ++k) {
      const NodeId from = mover_of(node.inputs[k]);
      if (!from.valid()) continue;
      if (may_move_[n.v])
        join(from, n);
      else if (is_here || is_tied || !(op.types()[k]->rank() == 0 || may_be_on_host(op, k)))
        stays_[set_of(from)] = true;
    }
  }

  // Whether it says itself where what it makes of a tensor lies.
  static bool is_placed(const Node& node) {
    const int device = node.op->schema.find("device");
    return !node.inputs.empty() && device >= 0 &&
           node.attrs.find(static_cast<uint16_t>(device)) != nullptr;
  }

  // Whether what it reads moves, or may meet what has moved.
  bool operands_move(const Node& node) const {
    if (node.inputs.empty()) return node.op->schema.find("device") >= 0;
    bool moves = false;
    for (const ValueId v : node.inputs) {
      if (!v.valid()) continue;
      moves |= mover_of(v).valid();
      if (!mover_of(v).valid() && g_.type(v).rank() > 0) return false;
    }
    return moves;
  }

  void keep(ValueId v) {
    if (const NodeId n = mover_of(v); n.valid()) stays_[set_of(n)] = true;
  }

  void join(NodeId a, NodeId b) {
    const uint32_t from = set_of(a), to = set_of(b);
    set_[from] = to;
    stays_[to] = stays_[to] || stays_[from];
  }
  uint32_t set_of(NodeId n) {
    uint32_t at = n.v;
    while (set_[at] != at) at = set_[at] = set_[set_[at]];
    return at;
  }

  const Graph& g_;
  std::vector<uint32_t> set_;  // the parent in the tree of its set
  std::vector<bool> stays_;    // of a set's root
  std::vector<bool> may_move_;
};

// Statistics of halves have another dtype on a device.
bool has_dtypes_of(const Graph& g, const Graph& before) {
  for (NodeId n = g.first_node(); n.valid(); n = g.next_node(n))
    for (uint32_t k = 0; n.v < before.node_capacity() && k < g.node(n).output_count; ++k)
      if (g.type(g.node(n).out(k)).dtype != before.type(g.node(n).out(k)).dtype) return false;
  return true;
}

// Whether no rule refuses it there, and the graph is as it was but for devices.
Result<bool> moved(Graph& g, const Graph& before, const std::vector<NodeId>& constructors,
                   Device device) {
  for (const NodeId n : constructors) {
    const Node& node = g.node(n);
    NodeSpec spec{
        .op = node.op, .attrs = node.attrs, .before = n, .loc = node.loc, .tag = node.tag};
    spec.attrs.set(static_cast<uint16_t>(node.op->schema.find("device")), device.text());
    const std::string name = g.name(node.out(0));
    CLEAVE_TRY(const NodeId there, g.add_node(std::move(spec)));
    g.replace_uses(g.node(n).out(0), g.node(there).out(0));
    g.erase(n);
    CLEAVE_CHECK(g.rename(g.node(there).out(0), name));
  }
  return g.refresh_types().ok() && has_dtypes_of(g, before);
}

Result<PassCount> run(Graph& g, const OpRegistry&) {
  const std::optional<Device> device = device_beside_cpu(g);
  if (!device) return PassCount();
  const std::vector<NodeId> constructors = Movable(g).constructors();
  if (constructors.empty()) return PassCount();
  Graph there = g;
  CLEAVE_TRY(const bool fits, moved(there, g, constructors, *device));
  if (!fits) return PassCount();
  g = std::move(there);
  const auto count = std::ssize(constructors);
  return PassCount{.matches = count, .nodes = count};
}

}  // namespace

Pass move_constructors() {
  return {.name = "move_constructors",
          .summary = "what is made on the CPU for calls on the device is made there",
          .run = run};
}

}  // namespace cleave
