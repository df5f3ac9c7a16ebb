// Batch norm by running statistics after a convolution, as a convolution of other weights.
//
//   c = weight_bn / sqrt(var + eps)
//   batch_norm(convolution(x, w, b))  ->  convolution(x, w * c, (b - mean) * c + bias_bn)
//
// c scales the weight's output channels: dim 0, or dim 1 of a transposed convolution of one group.
// Everything is worked out in the widest dtype of weights and statistics and then rounded to the
// convolution's, so results are rounded otherwise. The convolution must have no other reader, and
// nothing may read the saved statistics, which are empty.
#pragma once
#include "rewrite/rule.h"

namespace cleave {

// One rule for each operator that can be batch norm; `when` is asked too.
std::vector<Rule> conv_bn_rules(std::function<bool(const Match&)> when);

}  // namespace cleave
