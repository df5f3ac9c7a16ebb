// The state behind a Variable, and the library's access to the internals of public handles.
#pragma once
#include <memory>
#include <string>

#include "base/ids.h"
#include "cleave/tensor.h"

namespace cleave::trace {

struct VariableState {
  std::string name;
  VariableKind kind = VariableKind::parameter;
  HostTensor value;
  bool requires_grad = true;
  bool holds_average = false;  // TrainStep::use_ema has put it in the parameter's place
  int64_t version = 0;         // counts writes, but for those through pointers that were kept
};

using VariablePtr = std::shared_ptr<VariableState>;
using RecordingPtr = std::shared_ptr<Recording>;

struct Access {
  static const VariablePtr& state(const Variable& v) { return v.state_; }
  static HostTensor& memory(const Variable& v) { return v.state_->value; }
  // The same, to write there.
  static HostTensor& written(const Variable& v) {
    ++v.state_->version;
    return v.state_->value;
  }
  static Variable variable(VariablePtr state) {
    Variable v;
    v.state_ = std::move(state);
    return v;
  }
  static const RecordingPtr& recording(const Tensor& t) { return t.recording_; }
  static const Variable& leaf(const Tensor& t) { return t.leaf_; }
  static ValueId value(const Tensor& t) { return {t.value_}; }
  static Tensor tensor(RecordingPtr recording, ValueId value) {
    Tensor t;
    t.recording_ = std::move(recording);
    t.value_ = value.v;
    return t;
  }
};

}  // namespace cleave::trace
