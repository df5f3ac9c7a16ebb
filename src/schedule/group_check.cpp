#include "schedule/group_check.h"

#include <unordered_set>

#include "loop/lower_rule.h"
#include "schedule/group_reads.h"
#include "schedule/own_loops.h"

namespace cleave {

using namespace cleave::loop;

namespace {

class Checker {
 public:
  Checker(const Graph& graph, const std::vector<NodeId>& nodes, const GroupPlan& plan)
      : graph_(graph), nodes_(nodes), plan_(plan), reads_(graph, nodes, plan) {}

  Status run(const std::vector<ValueId>& results) {
    CLEAVE_CHECK(check_rules());
    if (plan_.mode == GroupMode::own_loops) return {};
    if (folded_.empty()) return {};
    return reads_.walk(results, [&](const GroupReads::Read& r) { return read(r); });
  }

 private:
  Failure wrong(const char* why, ValueId v) const {
    return bug("lower: %{}: {}", graph_.name(v), why);
  }

  // Checks each call's rule, and sets folded_.
  Status check_rules() {
    for (const NodeId n : nodes_) {
      const Node& node = graph_.node(n);
      if (!node.op->lower.present()) return wrong("has no lowering", node.out(0));
      const auto& form = (*node.op->lower)->form;
      const ElementwiseRule* rule = elementwise_rule(**node.op->lower, graph_.view(n));
      const bool is_fold = std::holds_alternative<ReductionRule>(form);
      if (rule && !rule->in_range)
        return wrong("has loops of its own, or reads what it may not use", node.out(0));
      if (!rule && !is_fold && !std::holds_alternative<ViewRule>(form) && !own_loops(graph_, n))
        return wrong("is no call that can be computed in place", node.out(0));
      if (std::holds_alternative<ViewRule>(form) &&
          graph_.type(node.inputs[0]).dtype != graph_.type(node.out(0)).dtype)
        return wrong("is a view as another dtype", node.out(0));
      bool folded = is_fold;
      for (const ValueId v : node.inputs) {
        if (!v.valid()) continue;
        folded |= folded_.contains(v.v);
      }
      for (uint32_t k = 0; folded && k < node.output_count; ++k) folded_.insert(node.out(k).v);
    }
    return {};
  }

  // Checks that a fold's result is read in its own row. Returns whether to go on to what it reads.
  Result<bool> read(const GroupReads::Read& r) {
    if (!folded_.contains(r.value.v)) return false;
    const FoldCall* f = plan_.fold_of(r.value);
    if (!f) return true;
    if (!f->in_rows) return wrong("is read before its parts are added up", r.value);
    if (r.index != reads_.row_index(r.value)) return wrong("is read in another row", r.value);
    return false;
  }

  const Graph& graph_;
  const std::vector<NodeId>& nodes_;
  const GroupPlan& plan_;
  GroupReads reads_;
  std::unordered_set<uint32_t> folded_;  // values that depend on a fold
};

}  // namespace

Status check_group(const Graph& graph, const std::vector<NodeId>& nodes,
                   const std::vector<ValueId>& results, const FoldParts& cut) {
  for (const NodeId n : nodes)
    if (!graph.node(n).op->lower.present())
      return bug("lower: {} has no lowering", graph.node(n).op->name);
  CLEAVE_TRY(const GroupPlan plan, GroupPlan::make(graph, nodes, results, cut));
  return Checker(graph, nodes, plan).run(results);
}

}  // namespace cleave
