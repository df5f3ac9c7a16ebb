// What a run of a training step computed. On a device the run may still be at it when it returns:
// its numbers are waited for when they are read.
//
//   StepResult result = step.run({x, y});          // the device has begun
//   if (i % 100 == 0) std::printf("%f\n", result.loss.value());   // waits for this run
#pragma once
#include <cstddef>
#include <cstdint>
#include <memory>

#include "cleave/error.h"

namespace cleave {

// A number that stands for a double. Copies are the same number; it stays readable when later runs
// have been made, and when the step is gone. Thread-safe.
class CLEAVE_API StepNumber {
 public:
  // What computes it.
  class Source {
   public:
    enum class Which : uint8_t { loss, grad_norm, loss_scale, skipped_steps };
    virtual ~Source() = default;
    virtual double number(Which which) = 0;
  };

  StepNumber() = default;
  explicit StepNumber(double value) : value_(value) {}
  StepNumber(std::shared_ptr<Source> source, Source::Which which)
      : source_(std::move(source)), which_(which) {}

  // Waits for the run. Error (user): the run failed; what it computes stays unread however often it
  // is asked for.
  double value() const { return source_ ? source_->number(which_) : value_; }
  operator double() const { return value(); }

 private:
  std::shared_ptr<Source> source_;
  Source::Which which_ = Source::Which::loss;
  double value_ = 0;
};

struct StepResult {
  StepNumber loss;
  // Of the gradients of the loss before clipping. 0 where it isn't computed: without clip_norm,
  // report_grad_norm and on_nonfinite, and in runs that don't update the parameters.
  StepNumber grad_norm;
  // Where the loss is scaled (TrainOptions::loss_scaling): what this run's was multiplied by, and
  // how many steps were skipped because a gradient was inf or nan, from the first step of the store
  // on, this one included. Else 1 and 0, as in a run that on_nonfinite skips.
  StepNumber loss_scale{1};
  StepNumber skipped_steps;
  bool skipped = false;  // NonFinite::skip_step: the run changed nothing, and has no outputs
};

}  // namespace cleave
