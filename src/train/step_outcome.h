// What a run of a step that was started computed, when it is over.
#pragma once
#include <atomic>
#include <memory>
#include <vector>

#include "cleave/step_result.h"
#include "exec/sized_programs.h"

namespace cleave {

class StepOutcome final : public StepNumber::Source, public StartedRun {
 public:
  // It is that of the next run of these programs, whose first result is the loss; then the run was
  // started. Between the two nobody else has it.
  void begin(const SizedPrograms& programs);
  void started();

  // Waits for the run.
  const Status& status();
  // It is over, and failed.
  bool has_failed() const { return is_over_.load(std::memory_order_acquire) && !status_.ok(); }
  // Throws (user) the run's failure.
  double number(Which which) override;
  void ended(const Status& status) override;

 private:
  const SizedPrograms* programs_ = nullptr;
  std::shared_ptr<DeviceUse> use_;
  std::atomic<bool> is_over_ = false;  // then what follows stays as it is
  Status status_;
  double loss_ = 0, norm_ = 0, scale_ = 1, skipped_ = 0;
};

// Those of a step: one that nobody reads any more serves again.
class StepOutcomes {
 public:
  std::shared_ptr<StepOutcome> unused();

 private:
  std::vector<std::shared_ptr<StepOutcome>> kept_;
};

}  // namespace cleave
