// What PyTorch's partitioner knows of an operator: the lists of get_default_op_list, the flops of
// its FlopCounterMode.
//
// Source: torch/_functorch/partitioners.py and torch/utils/flop_counter.py, PyTorch 2.13. Operators
// that are cleave's own stand as what they are made of: adam_step and rng_next are recomputable,
// scaled_dot_product_attention is _scaled_dot_product_flash_attention, opaque is unknown code.
#pragma once
#include "ir/graph.h"

namespace cleave {

struct PytorchOp {
  bool recomputable = false;
  bool view = false;
  bool compute_intensive = false;
  bool random = false;
  bool fusible() const { return recomputable || random; }
};

PytorchOp pytorch_op(const OpDef& op);

// 2mnk of products, convolutions and attention; 0 of all others. Sizes at their hints.
int64_t pytorch_flops(const Graph& g, NodeId n);

}  // namespace cleave
