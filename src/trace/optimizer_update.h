// The state behind optim::Update while a training step is traced.
#pragma once
#include <vector>

#include "cleave/optim.h"
#include "trace/recording.h"

namespace cleave::optim {

struct UpdateState {
  trace::RecordingPtr recording;
  Store store;  // holds the state tensors; new ones are added
  Location at;
  Tensors learning_rates;  // one per group; an optimizer of one group reads the first
  Tensor step;
  std::vector<Update::Parameter> parameters;
  std::vector<Variable> variables;  // of the parameters
  std::string optimizer_state_name(const std::string& key, const Update::Parameter& of) const {
    return "optimizer." + key + "." + of.name;
  }
};

class UpdateRecorder {
 public:
  static void record(const Optimizer& optimizer, UpdateState& state) {
    Update update(state);
    optimizer.record(update);
  }
  static const UpdateState& state(const Update& update) { return *update.state_; }
};

}  // namespace cleave::optim
