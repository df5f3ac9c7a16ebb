// A joint graph as PyTorch's partitioner sees it: one node a placeholder, a call, and a getitem for
// each result of a call with several that somebody reads.
//
//   required_forward    what results and updates need, and every placeholder that is no tangent
//   required_backward   tangents, what reads them, and what is returned as a gradient
//   reads_tangents      tangents and what reads them, directly or not
//   unclaimed           neither of the two
//   distance            from the backward: 0 outside of required_forward, else 1 more than the
//                       nearest reader's; `far` where nothing of the backward reads it
//   border              a call tagged for recomputation that one of a later checkpointed region
//                       reads is tagged must_save: regions in a row keep what is between them
//
// Source: classify_nodes, cleanup_recompute_tags of torch/_functorch/partitioners.py, PyTorch 2.13.
#pragma once
#include <vector>

#include "cut/joint_view.h"
#include "cut/pytorch_ops.h"

namespace cleave {

struct PytorchNode {
  enum class Kind : uint8_t { placeholder, call, getitem };
  Kind kind = Kind::call;
  NodeId call = {};    // of a call; a getitem's call
  ValueId value = {};  // none for a call with several results
  PytorchOp op = {};
  CheckpointTag tag = {};
  bool parameter = false;            // role param or buffer
  bool returned = false;             // read by the graph's output
  const char* once = nullptr;        // why it must never run again; null: it may
  std::vector<int32_t> inputs = {};  // once for each place where it reads
  std::vector<int32_t> users = {};   // each once, without the output
  int64_t bytes = 0;                 // of all its results
  int64_t argument_bytes = 0;        // of what it reads outside of lists
  bool required_forward = false, required_backward = false, reads_tangents = false;
  int32_t forward_order = -1;  // among required_forward
  int32_t distance = 0;
};

// Why the call must never run again: it has an effect, or meets other ranks. Null: it may.
const char* runs_once_because(const Node& call);

class PytorchGraph {
 public:
  static constexpr int32_t far = 1'000'000'000;

  explicit PytorchGraph(const JointView& joint);

  const JointView& joint() const { return *joint_; }
  const std::vector<PytorchNode>& nodes() const { return nodes_; }
  const PytorchNode& node(int32_t n) const { return nodes_[static_cast<size_t>(n)]; }
  int32_t size() const { return static_cast<int32_t>(nodes_.size()); }
  // Whether b can be computed in one kernel with a, which it reads.
  bool is_fusible(int32_t a, int32_t b) const;

 private:
  void add_placeholders();
  void add_call(NodeId n);
  void add_use(int32_t user, ValueId v, bool in_list);
  void classify();
  void keep_borders();
  void measure_distance();

  const JointView* joint_;
  std::vector<PytorchNode> nodes_;
  std::vector<int32_t> node_of_;  // by value
  std::vector<bool> returned_;    // by value
};

}  // namespace cleave
