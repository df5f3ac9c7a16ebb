// Shared by the forms of batch norm and their backward. Dim 1 is the channel dim; a statistic
// reduces all other dims.
//
//   input f32[8,3,4,4]:   statistics, weight, bias and running statistics [3]
//
//   (C1) input has at least 2 dims     (C2) input is floating
//   (C3) weight, bias and the running and saved statistics have one dim, of the channels
//   (C4) they have the dtype of input, or f32 where that is bf16 or f16
//   (C5) a channel has an element to train on
//   (C6) the statistics that the mode reads are given
#pragma once
#include "op/cost.h"
#include "op/dims.h"
#include "op/entry.h"
#include "op/norm_graph.h"
#include "op/sample_sets.h"

namespace cleave {

// Checks C1 and C2; check_channel_operand checks C3 and C4.
Status check_batch_input(const OpView& op, int input);

// Returns every dim of the input except 1.
std::vector<int64_t> batch_dims(const Type& input);
// Returns [1,C,1,...], the shape of operands with one entry for each channel.
Shape channel_shape(const Type& input);

NormMap batch_norm_map(const Array& x);

// Adds the gradients of running statistics that were read, which PyTorch doesn't provide, to `d`.
// The operands are input, weight, bias, running_mean, running_var.
void grad_running(Builder& b, const GradView& op, double eps, Values& d);

}  // namespace cleave
