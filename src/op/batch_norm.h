// What the forms of batch norm and their backward share. Dim 1 counts channels; a statistic folds
// all other dims.
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

// C1 and C2; C3 and C4 are check_channel_operand.
Status check_batch_input(const OpView& op, int input);

// Every dim of the input but 1.
std::vector<int64_t> batch_dims(const Type& input);
// [1,C,1,...], for operands of one entry for each channel.
Shape channel_shape(const Type& input);

NormMap batch_norm_map(const Array& x);

}  // namespace cleave
