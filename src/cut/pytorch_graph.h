// A joint graph as PyTorch's partitioner sees it: one node for each placeholder and each call, and
// a getitem node for each result that is read of a call with several results.
//
//   required_forward    nodes that results and updates need, and every placeholder but tangents
//   required_backward   tangents, nodes that read them, and nodes returned as gradients
//   reads_tangents      tangents and nodes that read them, directly or indirectly; in a program
//                       without tangents its backward half
//   distance            from the backward: 0 outside of required_forward, else 1 more than the
//                       nearest reader's; `far` where nothing of the backward reads it
//   symbol              what is a SymInt, SymBool or SymFloat there: symints, sizes of tensors, and
//                       what pointwise calls make of these alone. A symint's readers are the calls
//                       that have it in an attribute
//   border              a call tagged for recomputation that such a call of a later checkpointed
//                       region reads is tagged must_save: values between consecutive regions are
//                       kept
//
// Source: classify_nodes, cleanup_recompute_tags of torch/_functorch/partitioners.py, PyTorch 2.13.
#pragma once
#include <vector>

#include "cut/joint_view.h"
#include "cut/pytorch_ops.h"

namespace cleave {

struct PytorchNode {
  enum class Kind : uint8_t { placeholder, call, getitem };
  enum class Symbol : uint8_t { none, integer, boolean, floating };
  Kind kind = Kind::call;
  NodeId call = {};    // a call, or the call whose result a getitem reads
  ValueId value = {};  // invalid for a call with several results
  PytorchOp op = {};
  Symbol symbol = Symbol::none;
  CheckpointTag tag = {};
  bool constant = false;             // role const: PyTorch's get_attr, there in both halves
  bool parameter = false;            // role param or buffer
  bool returned = false;             // read by the graph's output
  const char* once = nullptr;        // why it must never run again; null: it may
  std::vector<int32_t> inputs = {};  // one for each operand, so possibly repeated
  std::vector<int32_t> users = {};   // each once, without the graph's output
  int64_t bytes = 0;                 // of all its results; 1 of a symbol, 0 of a constant
  int64_t argument_bytes = 0;        // of its operands that aren't in a list
  bool required_forward = false, required_backward = false, reads_tangents = false;
  int32_t forward_order = -1;  // position among required_forward
  int32_t distance = 0;
};

// Why the call must never run again: it has an effect or is a collective. Null: it may.
const char* runs_once_because(const Node& call);

class PytorchGraph {
 public:
  static constexpr int32_t far = 1'000'000'000;

  explicit PytorchGraph(const JointView& joint);

  const JointView& joint() const { return *joint_; }
  const std::vector<PytorchNode>& nodes() const { return nodes_; }
  const PytorchNode& node(int32_t n) const { return nodes_[static_cast<size_t>(n)]; }
  int32_t size() const { return static_cast<int32_t>(nodes_.size()); }
  // Whether b, which reads a, can be computed in one kernel with it.
  bool is_fusible(int32_t a, int32_t b) const;

 private:
  void add_placeholders();
  void add_call(NodeId n);
  void add_use(int32_t user, ValueId v, bool in_list);
  void add_symbol_uses(int32_t user);
  PytorchNode::Symbol symbol_of(NodeId n) const;
  void classify();
  void keep_borders();
  void measure_distance();

  const JointView* joint_;
  std::vector<PytorchNode> nodes_;
  std::vector<int32_t> node_of_;  // by value
  std::vector<bool> returned_;    // by value
};

}  // namespace cleave
