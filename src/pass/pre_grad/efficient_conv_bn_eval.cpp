// Folds batch norm by running statistics into the convolution before it, whose weights are
// recomputed in each step.
//
//   batch_norm(convolution(x, w, b), ...)  ->  convolution(x, w', b')      conv_bn.h
//
// For networks trained with batch norm in evaluation mode, as in transfer learning
// (https://arxiv.org/abs/2305.11624): the normalised activations and the values that their gradient
// would keep are never materialized. Gradients reach w, b and the norm's weight and bias through w'
// and b'. Runs only on request, as in PyTorch: it loses precision where a variance is near 0.
#include "pass/passes.h"
#include "pass/pre_grad/conv_bn.h"

namespace cleave {

Pass efficient_conv_bn_eval() {
  return {.name = "efficient_conv_bn_eval",
          .summary = "batch norm by running statistics becomes part of the convolution before it",
          .rules = conv_bn_rules([](const Match&) { return true; })};
}

}  // namespace cleave
