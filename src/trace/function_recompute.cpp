// checkpoint: marks the nodes that a function records.
#include "cleave/recompute.h"
#include "trace/record.h"

namespace cleave {

using trace::RecordingPtr;
using trace::refuse;

namespace {

// Keeps the region open for its lifetime, even if the function throws.
struct Region {
  explicit Region(RecordingPtr r) : recording(std::move(r)), number(recording->begin_region()) {}
  Region(const Region&) = delete;
  Region& operator=(const Region&) = delete;
  ~Region() { recording->end_region(); }
  RecordingPtr recording;
  int64_t number;
};

Recompute mark_of(CheckpointPolicy p) {
  switch (p) {
    case CheckpointPolicy::must_save: return Recompute::must_save;
    case CheckpointPolicy::prefer_save: return Recompute::prefer_save;
    case CheckpointPolicy::must_recompute: return Recompute::must_recompute;
    case CheckpointPolicy::prefer_recompute: break;
  }
  return Recompute::prefer_recompute;
}

}  // namespace

Tensors checkpoint(const TracedFunction& fn, const Tensors& inputs, const PolicyFunction& policy,
                   Location at) {
  if (!fn) refuse(at, "checkpoint: there is no function");
  if (inputs.empty()) refuse(at, "checkpoint: no inputs, expected a Tensor of the program");
  for (const Tensor& t : inputs) trace::require_defined("checkpoint", "an input", t, at);
  if (fn.arity() >= 0 && static_cast<size_t>(fn.arity()) != inputs.size())
    refuse(at, "checkpoint: the function takes {} Tensors, got {} inputs", fn.arity(),
           inputs.size());
  const RecordingPtr r = trace::common_recording("checkpoint", {inputs}, at);
  if (r->is_free()) refuse(at, "checkpoint: the inputs belong to no program that is being traced");
  const Region region(r);
  Graph& g = r->graph();
  const NodeId before = g.last_node();
  Tensors results = fn(inputs);
  for (NodeId n = before.valid() ? g.next_node(before) : g.first_node(); n.valid();
       n = g.next_node(n)) {
    const Node& node = g.node(n);
    if (node.tag.policy != Recompute::unset) continue;  // an inner checkpoint's
    const CheckpointPolicy asked =
        policy ? policy(node.op->name) : CheckpointPolicy::prefer_recompute;
    g.set_tag(n, {mark_of(asked), region.number});
  }
  return results;
}

}  // namespace cleave
