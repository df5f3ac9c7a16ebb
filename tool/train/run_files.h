// The files that a run leaves, at its end, at every checkpoint and after a signal:
//
//   --out        a checkpoint: parameters, the optimizer's state, the step (cleave/checkpoint.h)
//   --save       the model in the layout of transformers, with its tokenizer
//   --loss-svg   the losses of this process (inspect/loss_chart.h)
#pragma once
#include "cleave/checkpoint.h"
#include "inspect/loss_chart.h"
#include "tool/train/arguments.h"
#include "tool/train/run_model.h"

namespace cleave::tool {

class RunFiles {
 public:
  RunFiles(const TrainArguments& o, const RunModel& model, Metadata identity)
      : o_(o), model_(model), identity_(std::move(identity)) {}

  // Finds out before the first step, and not after the last, whether they can be written.
  static Status check_writable(const TrainArguments& o);

  // Errors (user): --resume isn't a checkpoint of `cleave train`, or of a run with other sizes or
  // data; names what differs.
  Status resume(const Store& store) const;
  Status write_initial(const Store& store) const;  // --save-init
  Status write(const Store& store) const;
  Status write_chart() const;  // the last of what write() writes
  bool has_checkpoint() const { return !o_.out.empty() || !o_.save.empty(); }

  LossCurves curves;

 private:
  const TrainArguments& o_;
  const RunModel& model_;
  Metadata identity_;
};

// Of a checkpoint's metadata: what a run that resumes from it has to have, of its model, its data
// and its own numbers.
Metadata run_identity(const TrainArguments& o, const Metadata& of_model, const Metadata& of_data);

}  // namespace cleave::tool
