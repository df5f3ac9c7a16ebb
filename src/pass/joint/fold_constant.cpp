// Replaces calls whose result is uniform by a full.
//
//   %a = zeros(; size=[2,s0])
//   %b = add(%a; other=1)                 ->   %c = full(; size=[s0,2], fill_value=1.0, dtype=f32)
//   %c = permute(%b; dims=[1,0])
//
// uniform_value.h says which values are known to be uniform. A call is replaced if it has a user
// that isn't replaced itself, or is returned; sizes stay symbolic, since full accepts them. A
// full_like no longer uses its operand, whose live range may then end earlier. Results that full
// can't produce (on another device, or with their own strides) are unchanged. Calls aren't folded
// through operands with another checkpoint tag.
// Source: joint_graph.py UniformValueConstantFolder, PyTorch 2.13.
#include <algorithm>

#include "ir/builder.h"
#include "pass/passes.h"
#include "pass/uniform_value.h"

namespace cleave {
namespace {

class Folding {
 public:
  Folding(Graph& graph, const OpRegistry& ops) : graph_(graph), ops_(ops), uniform_(graph) {
    is_returned_.resize(graph.value_capacity());
    for (const Return& r : graph.returns()) is_returned_[r.value.v] = true;
  }

  Result<PassCount> run() {
    for (const NodeId n : graph_.order())
      if (is_folded(n)) CLEAVE_CHECK(fold(n));
    return count_;
  }

 private:
  bool is_folded(NodeId n) const {
    const Node& node = graph_.node(n);
    if (node.output_count == 0 || node.op->name == "full") return false;
    const Type& t = graph_.type(node.out(0));
    return uniform_.find(node.out(0)) && t.device == Device() && !t.strides;
  }

  bool is_needed(ValueId v) const {
    return is_returned_[v.v] || std::ranges::any_of(graph_.uses(v), [&](const Use& use) {
             return !is_folded(use.node);
           });
  }

  Status fold(NodeId n) {
    bool is_replaced = false;
    for (uint32_t k = 0; k < graph_.node(n).output_count; ++k) {
      const ValueId old = graph_.node(n).out(k);
      if (!is_needed(old)) continue;
      is_replaced = true;
      CLEAVE_CHECK(replace(n, old));
    }
    if (is_replaced) {
      ++count_.matches;
      ++count_.nodes;
    }
    return {};
  }

  Status replace(NodeId n, ValueId old) {
    const Type type = graph_.type(old);
    const std::string name = graph_.name(old);
    Builder b(graph_, ops_);
    b.insert_before(n);
    b.set_loc(graph_.node(n).loc);
    b.set_tag(graph_.node(n).tag);
    const ValueId made = b.full(type.shape, *uniform_.find(old), type.dtype);
    CLEAVE_CHECK(b.status());
    graph_.replace_uses(old, made);
    CLEAVE_CHECK(graph_.rename(old, graph_.fresh_name(name)));
    return graph_.rename(made, name);
  }

  Graph& graph_;
  const OpRegistry& ops_;
  const UniformValues uniform_;
  std::vector<bool> is_returned_;
  PassCount count_;
};

}  // namespace

Pass fold_constant() {
  return {.name = "fold_constant",
          .summary = "calls whose result is one number everywhere become full",
          .run = [](Graph& graph, const OpRegistry& ops) { return Folding(graph, ops).run(); }};
}

}  // namespace cleave
