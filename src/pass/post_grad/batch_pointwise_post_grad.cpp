// batch_activation and batch_arithmetic (pre_grad) on forward and backward in one graph.
//
//   mul(dy, a), mul(dz, b), ...  ->  unbind(mul(stack([dy, dz, ...]), stack([a, b, ...])))
//
// PyTorch: batch_aten_tanh, _sigmoid, _relu, _add, _sub, _mul and _div of
// fx_passes/group_batch_fusion.py. Runs only on request: all operands are copied.
#include "pass/passes.h"
#include "pass/pre_grad/batch.h"

namespace cleave {
namespace {

std::string key(const OpView& call) {
  const std::string activation = activation_kind().key(call);
  return activation.empty() ? arithmetic_kind().key(call) : activation;
}

Values build(Builder& b, const std::vector<OpView>& calls) {
  const bool is_activation = !activation_kind().key(calls[0]).empty();
  return (is_activation ? activation_kind() : arithmetic_kind()).build(b, calls);
}

}  // namespace

Pass batch_pointwise_post_grad() {
  return batch_pass("batch_pointwise_post_grad",
                    "independent activations, sums, products of one shape become one, those of "
                    "gradients too",
                    {.key = key, .build = build});
}

}  // namespace cleave
