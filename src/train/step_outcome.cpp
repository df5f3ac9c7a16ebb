#include "train/step_outcome.h"

namespace cleave {

void StepOutcome::begin(const SizedPrograms& programs) {
  programs_ = &programs;
  is_over_ = false;
  status_ = {};
  loss_ = norm_ = skipped_ = 0;
  scale_ = 1;
}

void StepOutcome::started() { use_ = programs_->last().instance().use(); }

const Status& StepOutcome::status() {
  // Of a failure it says that somebody was told.
  if (!is_over_.load(std::memory_order_acquire) || !status_.ok()) use_->wait_for(*this);
  return status_;
}

double StepOutcome::number(Which which) {
  value_or_throw(status());
  switch (which) {
    case Which::loss: return loss_;
    case Which::grad_norm: return norm_;
    case Which::loss_scale: return scale_;
    case Which::skipped_steps: return skipped_;
  }
  return 0;
}

// What was started is of the program that was run last: another one waits for it.
void StepOutcome::ended(const Status& status) {
  status_ = status;
  if (status.ok()) {
    const BoundProgram& program = programs_->last();
    loss_ = program.ended_number(0);
    const ProgramCode::Marks& marks = program.marks();
    if (marks.norm_at) norm_ = program.ended_number(*marks.norm_at);
    if (marks.scale_at) scale_ = program.ended_number(*marks.scale_at);
    if (marks.skipped_at) skipped_ = program.ended_number(*marks.skipped_at);
  }
  is_over_.store(true, std::memory_order_release);
}

std::shared_ptr<StepOutcome> StepOutcomes::unused() {
  constexpr size_t most_kept = 8;
  for (const std::shared_ptr<StepOutcome>& outcome : kept_)
    if (outcome.use_count() == 1) {
      std::atomic_thread_fence(std::memory_order_acquire);  // behind the last reader
      return outcome;
    }
  auto made = std::make_shared<StepOutcome>();
  if (kept_.size() < most_kept) kept_.push_back(made);
  return made;
}

}  // namespace cleave
