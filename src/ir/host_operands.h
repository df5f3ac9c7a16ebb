// Operands that may lie on the CPU while the call and its results are on a device, as in PyTorch
// (ConstructorMoverPass::allow_cpu_device in torch/_inductor/fx_passes/post_grad.py, PyTorch 2.13;
// _to_copy, whose result lies where its attribute says).
//
//   index(self, indices)   index_put(self, indices, values)         indices
//   copy(self, src)        slice_scatter(self, src)                 src
//   _to_copy(self; device)                                          self
//
// Beside these a 0-d tensor on the CPU may meet any.
#pragma once
#include "ir/op_view.h"

namespace cleave {

// Whether `input`, a position in the call's inputs with list items expanded, is such an operand.
bool may_be_on_host(const OpView& op, size_t input);

// "self", "indices[0]": the argument of an input.
std::string input_name(const OpView& op, size_t input);

}  // namespace cleave
