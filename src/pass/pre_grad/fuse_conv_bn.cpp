// Folds batch norm by running statistics into the weights of the convolution before it, if none of
// these is trained.
//
//   batch_norm(convolution(x, w, b), ...)  ->  convolution(x, w', b')      conv_bn.h
//
// Weights, biases and statistics must be state (param, buffer, const) without a gradient: an
// evaluated network, or a frozen part of a trained one. Work proportional to the activations
// becomes work proportional to the weights. efficient_conv_bn_eval does this for trained weights.
#include <algorithm>

#include "pass/frozen.h"
#include "pass/passes.h"
#include "pass/pre_grad/conv_bn.h"

namespace cleave {
namespace {

bool is_all_frozen(const Match& m) {
  return std::ranges::all_of(
      std::to_array({"w", "b", "weight", "bias", "mean", "var"}),
      [&](const char* name) { return !m.has(name) || is_frozen(m.graph(), m[name]); });
}

}  // namespace

Pass fuse_conv_bn() {
  return {.name = "fuse_conv_bn",
          .summary = "batch norm by running statistics goes into the frozen weights before it",
          .rules = conv_bn_rules(is_all_frozen)};
}

}  // namespace cleave
