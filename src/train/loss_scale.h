// The loss's scale in a training step, as torch.amp.GradScaler and _amp_update_scale_ have it
// (PyTorch 2.13, torch/amp/grad_scaler.py, AmpGradScalerKernels.cpp):
//
//   g        the gradients of scale * loss
//   found    an element of a g is inf or nan
//   g'       = g (1 / scale), the reciprocal in f64 and rounded once; in f32 where g is narrower
//   count'   = found ? 0 : count + 1, and 0 again when that is growth_interval
//   scale'   = found ? scale backoff_factor
//                    : count + 1 is growth_interval ? scale growth_factor, if that is finite in f32
//                    : scale                          each product in f64 and rounded once
//   w'       = found ? w : what the optimizer says, of all that it updates
#pragma once
#include "cleave/train.h"

namespace cleave {

// Error (user): an option that is outside of its range.
void check_loss_scale(const TrainOptions& options, Location at);
bool scales_loss(const TrainOptions& options);

// The state of the scale, or what it is after a step. Values of a program that is being traced.
struct LossScale {
  Tensor scale;    // f32[]
  Tensor count;    // i32[]: steps in a row that weren't skipped, since the scale grew
  Tensor skipped;  // i64[]: steps that were skipped
};
LossScale next_scale(const LossScale& now, const Tensor& found, const TrainOptions& options,
                     Location at);

// bool[]: whether an element of one of them is inf or nan.
Tensor any_nonfinite(const Tensors& tensors, Location at);

// What they are of the loss alone.
Tensors unscaled(const Tensors& gradients, const Tensor& scale, Location at);

}  // namespace cleave
