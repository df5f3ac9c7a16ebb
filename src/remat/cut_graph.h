// A joint graph as the integers that the minimum cut works on (flow/forward_graph.h), and back.
//
//   values     all placeholders but tangents, then the results of calls that read no tangent
//   cost       call_ns for a call that results or updates need; 0 for one that only gradients need,
//              since it runs once in either half; 0 for a view
//   bytes      0 for placeholders, and with Returned::free for returned values: they stay in memory
//              anyway
//   pinned     calls with an effect and collectives; calls tagged must_save or prefer_save (for a
//              view the call of its base); calls at the border of a checkpointed region: tagged for
//              recomputation and read by such a call of a later region
//   unsavable  views, since their base is saved instead; results of calls tagged must_recompute or
//              prefer_recompute
//   needed     values that calls of the backward read, and gradients that depend on no tangent
#pragma once
#include "cut/call_cost.h"
#include "cut/joint_view.h"
#include "flow/failed_network.h"
#include "flow/forward_graph.h"

namespace cleave {

// A value by name, and why it can't be saved or its call must not run again.
struct ConstrainedValue {
  std::string name, constraint;
};

// Whether the bytes of a saved value count if the program returns it as well.
enum class Returned : uint8_t { free, counted };

class CutGraph {
 public:
  // `joint` must outlive it. Errors (user): tags that contradict each other, with the values
  // between them and the constraint on each; sizes that sum to 2^59 bytes or more.
  static Result<CutGraph> make(const JointView& joint, const MachineRates& rates,
                               Returned returned = Returned::free);

  const JointView& joint() const { return *joint_; }
  const flow::ForwardGraph& flow() const { return flow_; }
  // The conflict that `make` reports: values that can't be saved, each computed from the one
  // before; the first can't be computed again and the backward needs the last. Empty if there is
  // none.
  static std::vector<ConstrainedValue> conflict(const JointView& joint);
  // The network of that cut, with a node for each call and each value, in the graph's order
  // (flow/partition_network.h, where a byte costs 1 ns); nullopt if there is no conflict.
  static std::optional<flow::FailedNetwork> failed_network(const JointView& joint,
                                                           const MachineRates& rates);

  // The index in flow() of a call or value that depends on no tangent; -1 for all others.
  int32_t call(NodeId n) const { return call_of_[n.v]; }
  int32_t value(ValueId v) const { return value_of_[v.v]; }
  NodeId node(int32_t call) const { return nodes_[static_cast<size_t>(call)]; }
  // Why the value's call must not run again, or why the value can't be saved; empty if neither.
  std::string constraint_on(ValueId v) const;

 private:
  CutGraph(const JointView& joint) : joint_(&joint) {}
  void add_values(const MachineRates& rates, Returned returned);
  void add_call(NodeId n, const MachineRates& rates);
  void add_constraints();
  std::vector<ConstrainedValue> conflict() const;
  flow::FailedNetwork network() const;  // without the path
  Status refuse_conflict() const;

  const JointView* joint_;
  flow::ForwardGraph flow_;
  std::vector<int32_t> call_of_, value_of_;
  std::vector<NodeId> nodes_;
  std::vector<ValueId> values_;
};

}  // namespace cleave
