#include "compilers/partitioner.h"

#include <set>

#include "compile/stage_planner.h"
#include "compilers/traced_graph.h"
#include "cut/default_partition.h"
#include "cut/pytorch_partition.h"
#include "cut/split_joint.h"
#include "remat/budget_partition.h"

namespace cleave {
namespace {

Result<Partition> cut_exactly(Graph& joint, const Operators& ops, const MemoryBudget& budget) {
  StagePlanner planner(ops.registry(), {});
  simplify_joint(joint);
  CLEAVE_TRY(const ExactCut exact, ExactCut::of(joint, planner.rates()));
  if (!budget.given()) return exact.partition_at(0);
  CLEAVE_TRY(BudgetPartition found, cut_within(exact, budget, planner));
  return std::move(found.cut);
}

Result<Partition> cut_at(Graph& joint, const std::vector<std::string>& names) {
  CLEAVE_TRY(const JointView view, JointView::make(joint));
  std::set<ValueId> saved;
  for (const std::string& name : names) {
    const ValueId v = joint.find(name);
    if (!v.valid()) return user_error("partition: @{} has no value %{}", joint.name(), name);
    if (!view.forward_can_compute(v))
      return user_error("partition: %{} depends on a tangent: the forward can't keep it", name);
    saved.insert(v);
  }
  return split_joint(view, [&](ValueId v) -> KeepChoice {
    if (saved.contains(v)) return {Keep::save, "the partition function keeps it"};
    if (runs_once(joint.node(joint.value(v).def).op->traits)) return {Keep::save, "it runs once"};
    return {Keep::recompute, "the partition function doesn't keep it"};
  });
}

template <class Cut>
std::shared_ptr<const Partitioner::State> state_of(Cut cut) {
  return std::make_shared<const Partitioner::State>(Partitioner::State{std::move(cut)});
}

}  // namespace

Partitioner Partitioner::standard() {
  return Partitioner(
      state_of([](Graph& joint, const Operators&) { return default_partition(joint); }));
}

Partitioner Partitioner::pytorch(const PytorchOptions& options) {
  return Partitioner(state_of([options](Graph& joint, const Operators&) -> Result<Partition> {
    simplify_as_pytorch(joint);
    return pytorch_partition(joint, options);
  }));
}

Partitioner Partitioner::exact(MemoryBudget budget) {
  return Partitioner(state_of(
      [budget](Graph& joint, const Operators& ops) { return cut_exactly(joint, ops, budget); }));
}

Partitioner Partitioner::own(Saved saved) {
  return Partitioner(state_of([saved = std::move(saved)](Graph& joint, const Operators& ops) {
    return cut_at(joint, saved(traced_graph(joint, ops)));
  }));
}

Partitioner observed(const Partitioner& partitioner,
                     std::function<Status(const Graph& joint)> see) {
  return Partitioner(state_of(
      [partitioner, see = std::move(see)](Graph& joint, const Operators& ops) -> Result<Partition> {
        CLEAVE_CHECK(see(joint));
        return partitioner.state().cut(joint, ops);
      }));
}

}  // namespace cleave
