// index_put whose indices are one mask: values are written where it is true.
//
//   self [a,b,c,d], indices [none, mask[b,c]]      the mask covers dims 1 and 2
//   values [d], [1,d], [a,1,d] or []               dims [a, n, d], n the number of true places
//
// The result has self's shape whatever the mask holds, so this is `where`. If values has a dim with
// one entry for each true position (n above), its size depends on the mask's contents: Unsupported.
//   (C4), (C5), (C6)  index.cpp      (C7) the mask has the sizes of the dims that it covers
#pragma once
#include "ir/builder.h"
#include "ir/op_view.h"
#include "loop/kernel_builder.h"

namespace cleave {

// Returns whether the only index is a bool mask.
bool is_mask_put(const OpView& op);

Result<Types> infer_mask_put(const OpView& op);
Result<Arrays> reference_mask_put(const OpView& op, std::span<const Array* const> in);
Values grad_mask_put(Builder& b, const GradView& op);
void lower_mask_put(loop::KernelBuilder& k, const OpView& op);

std::vector<Sample> mask_put_samples();
std::vector<Reject> mask_put_rejects();

}  // namespace cleave
