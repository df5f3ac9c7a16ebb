// What PyTorch's partitioner knows about an operator: the lists of get_default_op_list, and the
// flops of FlopCounterMode.
//
// Source: torch/_functorch/partitioners.py and torch/utils/flop_counter.py, PyTorch 2.13. Operators
// that only cleave has are treated like what they decompose into: adam_step and rng_next are
// recomputable, scaled_dot_product_attention is _scaled_dot_product_flash_attention, opaque is
// unknown code.
#pragma once
#include "ir/graph.h"

namespace cleave {

struct PytorchOp {
  bool recomputable = false;
  bool view = false;
  bool compute_intensive = false;
  bool random = false;
  bool lift_fresh = false;  // no ban is about it
  bool fusible() const { return recomputable || random; }
};

PytorchOp pytorch_op(const OpDef& op);

// 2mnk for products, convolutions and attention; 0 for all others. Sizes at their hints.
int64_t pytorch_flops(const Graph& g, NodeId n);

}  // namespace cleave
