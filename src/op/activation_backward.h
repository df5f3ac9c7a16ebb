// What the gradients of activations as operators have in common.
//
//   grad_output, self  tensors that broadcast (C1) on one device (C2)
//                      (C4) they meet in a floating dtype
#pragma once
#include <string>
#include <vector>

#include "op/entry.h"
#include "op/sample_sets.h"

namespace cleave {

// The promoted dtype of both operands.
DType backward_dtype(const OpView& op);
// Checks C1, C2 and C4; `integers`: these are allowed as well.
Result<Types> infer_backward(const OpView& op, bool integers);
// The attributes as given, for a call of the same operator.
NamedAttrs same_attrs(const OpView& op);

std::vector<Sample> backward_samples(const SampleAttrs& attrs);
// Those of the rules above; `expected` ends the message of C4.
std::vector<Reject> backward_rejects(const std::string& name, const SampleAttrs& attrs,
                                     const std::string& expected);

}  // namespace cleave
