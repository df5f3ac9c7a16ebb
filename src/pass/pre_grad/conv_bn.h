// Turns batch norm by running statistics after a convolution into a convolution of other weights.
//
//   c = weight_bn / sqrt(var + eps)
//   batch_norm(convolution(x, w, b))  ->  convolution(x, w * c, (b - mean) * c + bias_bn)
//
// c scales the weight's output channels: dim 0, or dim 1 of a transposed convolution of one group.
// The computation uses the widest dtype of weights and statistics, then rounds to the
// convolution's, so results are rounded differently. The convolution must have no other user, and
// the saved statistics, which are empty, no user at all.
#pragma once
#include "rewrite/rule.h"

namespace cleave {

// One rule for each operator that can be batch norm; `when` must hold too.
std::vector<Rule> conv_bn_rules(std::function<bool(const Match&)> when);

}  // namespace cleave
