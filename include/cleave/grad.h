// Gradients as values of the traced function, which may be used and differentiated again: gradient
// penalties, adversarial inputs, forces from an energy, a critic's direction for an actor.
//
//   const Tensor score = critic(x);
//   const Tensor slope = grad(score.sum(), {x})[0];  // d score / d x, of x's type
//   return loss + 10 * square((slope * slope).sum(1).sqrt() - 1).mean();
//
// A training step differentiates its loss by itself; this is for gradients that the loss is made
// of.
#pragma once
#include "cleave/tensor.h"

namespace cleave {

struct GradOptions {
  // The gradient of y, of its type: the result is the product of it and the Jacobian. If undefined,
  // y has one element, and 1 is taken.
  Tensor cotangent = {};
  // Zeros for what y doesn't depend on; otherwise that is an error.
  bool allow_unused = false;
};

// The gradients of y by each of `wrt`, in that order, each of its type. y and wrt are floating; wrt
// are any values that y was computed from, Variables too, frozen ones as well. Only what was
// recorded until this call counts: give `wrt` the very Tensors that y was made of, not copies made
// afterwards. As in the training step, an operator's own random numbers (dropout's mask) are those
// of the forward.
//
// Errors (user): y has several elements and no cotangent is given; y doesn't depend on one of wrt;
// values that are no floats; a branch or loop that is being traced, of whose outside y is.
// (unsupported): an operator between them has no gradient.
// Source: torch.autograd.grad with create_graph=True (PyTorch 2.13).
CLEAVE_API std::vector<Tensor> grad(const Tensor& y, const std::vector<Tensor>& wrt,
                                    const GradOptions& options = {},
                                    Location at = Location::current());

}  // namespace cleave
