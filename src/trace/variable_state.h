// The state behind a Variable, and the library's access to the internals of public handles.
#pragma once
#include <atomic>
#include <memory>
#include <mutex>
#include <optional>
#include <string>

#include "base/ids.h"
#include "base/result.h"
#include "cleave/tensor.h"

namespace cleave::trace {

// A Variable's elements in the memory of a device.
class DeviceCopy {
 public:
  virtual ~DeviceCopy() = default;
  // Reads or writes all elements of a row-major tensor, and waits.
  virtual Status copy_out(HostTensor& to) const = 0;
  virtual Status copy_in(const HostTensor& from) = 0;
  virtual Device device() const = 0;
  // Their address, behind all runs that were started.
  virtual Result<void*> settled() const = 0;
};

struct VariableState {
  std::string name;
  VariableKind kind = VariableKind::parameter;
  HostTensor value;  // of the host; older than the device's copy while `is_elsewhere`
  bool requires_grad = true;
  bool holds_average = false;  // TrainStep::use_ema has put it in the parameter's place
  int64_t version = 0;         // counts writes, but for those through pointers that were kept

  // Where a device has the elements too, and `version` as it was when both had the same, or when
  // the device wrote them.
  std::mutex copy_mutex;  // of the two, as programs that read one Variable may run at a time
  std::shared_ptr<DeviceCopy> copy;
  int64_t copied_version = 0;
  std::atomic<bool> is_elsewhere = false;
  // Memory of a device that Variable::bind was given, until a program takes it (device_variable.h).
  std::optional<DeviceTensor> bound_there;
  Contents bound_contents = Contents::of_variable;

  // Reads the elements back if the device has newer ones. Throws the device's error.
  void read_back();
  // In its place where the host is about to write all of them.
  void overwrite();
  // The host's memory is where they are, which has what is newest: no device's, bound or not.
  void forget_copies();
  // The host has written the elements, which it had read back; the device has written its copy.
  // One thread at a time may write.
  void written_here() { ++version; }
  void written_elsewhere();
};

using VariablePtr = std::shared_ptr<VariableState>;
using RecordingPtr = std::shared_ptr<Recording>;

struct Access {
  static const VariablePtr& state(const Variable& v) { return v.state_; }
  // The host's memory, whatever it holds: for types and addresses.
  static HostTensor& host(const Variable& v) { return v.state_->value; }
  // The same with the elements that the Variable has now.
  static HostTensor& memory(const Variable& v) {
    v.state_->read_back();
    return v.state_->value;
  }
  // The same, to write there.
  static HostTensor& written(const Variable& v) {
    v.state_->read_back();
    ++v.state_->version;
    return v.state_->value;
  }
  // The same where all of it is written.
  static HostTensor& overwritten(const Variable& v) {
    v.state_->overwrite();
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
