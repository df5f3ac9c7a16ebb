// Losses: names, arguments, defaults and values are those of torch.nn.functional (PyTorch 2.13).
//
//   Tensor l = cross_entropy(logits, target, {.label_smoothing = 0.1, .weight = class_weight});
//
// All of them are composed of pointwise operators, softmax, gather and sums, so that they fuse with
// the surrounding operators. Errors (user), at the caller's line: shapes or dtypes that don't
// match, an option out of range; in a run: a class outside [0, C) that is not ignore_index.
#pragma once
#include "cleave/function.h"

namespace cleave {

// batchmean is for kl_div alone: the sum divided by the size of the first dim.
enum class Reduction : uint8_t { mean, sum, none, batchmean };

struct NllLossOptions {
  Reduction reduction = Reduction::mean;
  int64_t ignore_index = -100;  // targets of this class are ignored
  Tensor weight = {};           // [C]: of each class; the mean divides by the targets' weights
};
// input [N,C], [N,C,d1,...] or [C]: log probabilities; target i64 [N], [N,d1,...] or []
//   -weight[target] input[target]
CLEAVE_API Tensor nll_loss(const Tensor& input, const Tensor& target,
                           const NllLossOptions& options = {}, Location at = Location::current());

struct CrossEntropyOptions {
  Reduction reduction = Reduction::mean;
  int64_t ignore_index = -100;
  double label_smoothing = 0;  // s: the target becomes (1 - s) target + s / C
  Tensor weight = {};
};
// nll_loss of log_softmax(input). target may also be floating, probabilities of input's shape: then
// nothing is ignored, and the mean divides by N d1 ...
CLEAVE_API Tensor cross_entropy(const Tensor& input, const Tensor& target,
                                const CrossEntropyOptions& options = {},
                                Location at = Location::current());

struct BceWithLogitsOptions {
  Reduction reduction = Reduction::mean;
  Tensor weight = {};      // of each element, broadcast
  Tensor pos_weight = {};  // scales the term of target 1, broadcast
};
// -weight (pos_weight target log(sigmoid(x)) + (1 - target) log(1 - sigmoid(x))); input and target
// have the same shape; finite for every finite x.
CLEAVE_API Tensor binary_cross_entropy_with_logits(const Tensor& input, const Tensor& target,
                                                   const BceWithLogitsOptions& options = {},
                                                   Location at = Location::current());

CLEAVE_API Tensor mse_loss(const Tensor& input, const Tensor& target,
                           Reduction reduction = Reduction::mean,
                           Location at = Location::current());
CLEAVE_API Tensor l1_loss(const Tensor& input, const Tensor& target,
                          Reduction reduction = Reduction::mean, Location at = Location::current());
// d = |input - target|: d < beta ? d^2 / (2 beta) : d - beta / 2; l1_loss if beta is 0.
CLEAVE_API Tensor smooth_l1_loss(const Tensor& input, const Tensor& target,
                                 Reduction reduction = Reduction::mean, double beta = 1,
                                 Location at = Location::current());
// d <= delta ? d^2 / 2 : delta (d - delta / 2)
CLEAVE_API Tensor huber_loss(const Tensor& input, const Tensor& target,
                             Reduction reduction = Reduction::mean, double delta = 1,
                             Location at = Location::current());

struct KlDivOptions {
  Reduction reduction = Reduction::mean;  // over all elements, as in PyTorch; see batchmean
  bool log_target = false;                // target holds log probabilities
};
// input: log probabilities. target (log(target) - input), 0 where target is 0.
CLEAVE_API Tensor kl_div(const Tensor& input, const Tensor& target,
                         const KlDivOptions& options = {}, Location at = Location::current());

}  // namespace cleave
