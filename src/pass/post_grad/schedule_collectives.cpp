// Starts collectives as early as possible, and waits for them as late as possible.
//
//   a; x = f(..); c = all_reduce(a); y = wait(c); z = g(..); h(y)
//   ->  a; c = all_reduce(a); x = f(..); z = g(..); y = wait(c); h(y)
//
// A collective whose operands aren't results of collectives moves to just after the last definition
// of an operand, a wait to just before its first user, or to the end. Other calls keep their order,
// and so do collectives that follow the same call: all ranks run them in one order, which only the
// graph determines. A graph that contains a call with an effect is unchanged. The results don't
// change.
// PyTorch: schedule_comm_wait of _inductor/fx_passes/ddp_fusion.py, for all-reduces.
#include "pass/call_order.h"
#include "pass/passes.h"

namespace cleave {
namespace {

class Scheduler {
 public:
  explicit Scheduler(const Graph& g)
      : graph_(g), after_(g.node_capacity()), is_done_(g.node_capacity()) {}

  std::vector<NodeId> order() {
    std::vector<NodeId> first, rest;
    const std::vector<size_t> at = positions(graph_);
    for (NodeId n = graph_.first_node(); n.valid(); n = graph_.next_node(n)) {
      if (!may_begin_early(n))
        rest.push_back(n);
      else if (const NodeId last = last_operand(n, at); last.valid())
        after_[last.v].push_back(n);
      else
        first.push_back(n);
    }
    for (const NodeId n : first) emit(n);
    for (const NodeId n : rest)
      if (!ends_collective(n)) emit(n);
    for (const NodeId n : rest)
      if (!is_done_[n.v]) put(n);  // results that only return uses
    return std::move(order_);
  }

 private:
  bool is_collective(NodeId n) const {
    return n.valid() && has(graph_.node(n).op->traits, Trait::collective);
  }
  bool is_wait(NodeId n) const { return graph_.node(n).op->name == "wait_tensor"; }
  // Excludes a wait for a wait, which stays where it is.
  bool ends_collective(NodeId n) const {
    if (!is_wait(n)) return false;
    const NodeId def = graph_.value(graph_.node(n).inputs[0]).def;
    return is_collective(def) && !is_wait(def);
  }
  bool may_begin_early(NodeId n) const {
    if (!is_collective(n) || is_wait(n)) return false;
    for (const ValueId v : graph_.node(n).inputs)
      if (is_collective(graph_.value(v).def)) return false;
    return true;
  }
  NodeId last_operand(NodeId n, const std::vector<size_t>& at) const {
    NodeId last;
    for (const ValueId v : graph_.node(n).inputs)
      if (const NodeId def = graph_.value(v).def; def.valid())
        if (!last.valid() || at[def.v] > at[last.v]) last = def;
    return last;
  }

  // Emits n after the waits that it uses, and then the collectives that start after it. The
  // collectives waited for are already emitted, since they preceded the waits.
  void emit(NodeId n) {
    for (const ValueId v : graph_.node(n).inputs)
      if (const NodeId def = v.valid() ? graph_.value(v).def : NodeId(); def.valid())
        if (!is_done_[def.v] && ends_collective(def)) put(def);
    put(n);
    for (const NodeId c : after_[n.v]) put(c);
  }
  void put(NodeId n) {
    is_done_[n.v] = true;
    order_.push_back(n);
  }

  const Graph& graph_;
  std::vector<std::vector<NodeId>> after_;  // by node: collectives whose last operand it defines
  std::vector<bool> is_done_;
  std::vector<NodeId> order_;
};

Result<PassCount> run(Graph& graph, const OpRegistry&) {
  PassCount count;
  if (has_effect(graph)) return count;
  const std::vector<NodeId> before = graph.order(), after = Scheduler(graph).order();
  for (size_t k = 0; k < before.size(); ++k) count.nodes += before[k] != after[k] ? 1 : 0;
  if (count.nodes == 0) return count;
  count.matches = 1;
  CLEAVE_CHECK(graph.reorder(after));
  return count;
}

}  // namespace

Pass schedule_collectives() {
  return {.name = "schedule_collectives",
          .summary = "collectives begin as soon as they can and are waited for as late as can be",
          .run = run};
}

}  // namespace cleave
