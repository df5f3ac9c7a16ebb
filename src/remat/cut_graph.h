// A joint graph as the integers that the minimum cut sees (flow/forward_graph.h), and back.
//
//   values   placeholders but tangents, then the results of calls that read no tangent
//   cost     of a call that results or updates need too: call_ns; of one that gradients alone need
//            0, since it runs once wherever it stands; of a view 0
//   bytes    0 of placeholders, and with Returned::free of what is returned: it stays in memory
//            anyway
//   view     unsavable: its base is saved instead
//   pinned   a call with an effect; `must_save` and `prefer_save`, on a view its base's call;
//            the border of a checkpointed region: a result that a recomputed call of a later one
//            reads
//   unsavable also: results of calls tagged must_recompute or prefer_recompute
//   needed   what calls of the backward read, and gradients that read no tangent
//
// The names of reasons are kept for each value, for errors and explanations.
#pragma once
#include "cut/call_cost.h"
#include "cut/joint_view.h"
#include "flow/forward_graph.h"

namespace cleave {

// A value by name, and why it can't be saved or its call must not run again.
struct ConstrainedValue {
  std::string name, constraint;
};

// What saving a value adds that the program returns as well.
enum class Returned : uint8_t { free, counted };

class CutGraph {
 public:
  // `joint` must outlive it. Errors (user): tags that contradict each other, with the values on the
  // way and what binds each; sizes whose sum passes 2^59 bytes.
  static Result<CutGraph> make(const JointView& joint, const MachineRates& rates,
                               Returned returned = Returned::free);

  const JointView& joint() const { return *joint_; }
  const flow::ForwardGraph& flow() const { return flow_; }
  // What `make` refuses: values that can't be saved, each made from the one before; the first can't
  // be computed again and the backward needs the last. Empty where the tags agree.
  static std::vector<ConstrainedValue> conflict(const JointView& joint);

  // Of a call or value that reads no tangent, else -1.
  int32_t call(NodeId n) const { return call_of_[n.v]; }
  int32_t value(ValueId v) const { return value_of_[v.v]; }
  NodeId node(int32_t call) const { return nodes_[static_cast<size_t>(call)]; }
  // Why the value's call must not run again, or why it can't be saved; empty where it may.
  std::string constraint_on(ValueId v) const;

 private:
  CutGraph(const JointView& joint) : joint_(&joint) {}
  void add_values(const MachineRates& rates, Returned returned);
  void add_call(NodeId n, const MachineRates& rates);
  void add_constraints();
  std::vector<ConstrainedValue> conflict() const;
  Status refuse_conflict() const;

  const JointView* joint_;
  flow::ForwardGraph flow_;
  std::vector<int32_t> call_of_, value_of_;
  std::vector<NodeId> nodes_;
  std::vector<ValueId> values_;
};

}  // namespace cleave
