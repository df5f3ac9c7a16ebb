#include "exec/device_variable.h"

namespace cleave {
namespace {

class BlockCopy final : public trace::DeviceCopy {
 public:
  BlockCopy(std::shared_ptr<DeviceMemory> memory, DeviceBlock block)
      : memory_(std::move(memory)), block_(std::move(block)), data_(block_.data()),
        bytes_(block_.bytes()) {}
  // In memory of the host program.
  BlockCopy(std::shared_ptr<DeviceMemory> memory, const DeviceTensor& there)
      : memory_(std::move(memory)), there_(there), data_(there.data()),
        bytes_(there.extent_bytes()) {}
  ~BlockCopy() override {
    if (use_) use_->wait();
  }

  Status copy_out(HostTensor& to) const override {
    if (use_) CLEAVE_CHECK(use_->settle());
    if (bytes_ == 0) return {};
    CLEAVE_CHECK(memory_->copy_out(to.data(), data_, bytes_, nullptr));
    return memory_->wait(nullptr);
  }
  Status copy_in(const HostTensor& from) override {
    if (use_) CLEAVE_CHECK(use_->settle());
    if (bytes_ == 0) return {};
    CLEAVE_CHECK(memory_->copy_in(data_, from.data(), bytes_, nullptr));
    return memory_->wait(nullptr);
  }
  const std::shared_ptr<DeviceMemory>& memory() const { return memory_; }
  void* data() const { return data_; }
  Device device() const override { return memory_->device(); }
  Result<void*> settled() const override {
    if (use_) CLEAVE_CHECK(use_->settle());
    return data_;
  }
  bool is_bound() const { return there_.has_value(); }

  const DeviceUse* use() const { return use_.get(); }
  Status pass_to(const std::shared_ptr<DeviceUse>& use) {
    if (use_ == use) return {};
    if (use_) CLEAVE_CHECK(use_->settle());
    use_ = use;
    return {};
  }

 private:
  const std::shared_ptr<DeviceMemory> memory_;
  const DeviceBlock block_;
  const std::optional<DeviceTensor> there_;
  void* const data_;
  const int64_t bytes_;
  std::shared_ptr<DeviceUse> use_;
};

// The Variable's copy, if it is in this memory.
BlockCopy* copy_in(const trace::VariableState& variable,
                   const std::shared_ptr<DeviceMemory>& memory) {
  auto* const copy = dynamic_cast<BlockCopy*>(variable.copy.get());
  return copy != nullptr && copy->memory() == memory ? copy : nullptr;
}

Failure elsewhere(const trace::VariableState& variable, Device its, Device ours) {
  return user_error(
      "{}: it is bound to memory of {}, and the program runs on {}: expected one device",
      variable.name, its.text(), ours.text());
}

// Moves it to the memory that it was bound to, or says why it can't.
Status take_bound(trace::VariableState& variable, const std::shared_ptr<DeviceMemory>& memory) {
  const DeviceTensor& there = *variable.bound_there;
  if (there.device() != memory->device())
    return elsewhere(variable, there.device(), memory->device());
  if (variable.bound_contents == Contents::of_variable) {
    if (variable.is_elsewhere) CLEAVE_CHECK(variable.copy->copy_out(variable.value));
    variable.is_elsewhere = false;
    variable.copied_version = variable.version - 1;  // it has to be copied in
  }
  variable.copy = std::make_shared<BlockCopy>(memory, there);
  variable.bound_there.reset();
  return {};
}

}  // namespace

bool has_place(trace::VariableState& variable, const std::shared_ptr<DeviceMemory>& memory) {
  const std::lock_guard lock(variable.copy_mutex);
  return variable.bound_there || copy_in(variable, memory) != nullptr;
}

Result<void*> on_device(trace::VariableState& variable, const std::shared_ptr<DeviceMemory>& memory,
                        const std::shared_ptr<DeviceUse>& use) {
  const std::lock_guard lock(variable.copy_mutex);
  if (variable.bound_there) CLEAVE_CHECK(take_bound(variable, memory));
  BlockCopy* copy = copy_in(variable, memory);
  if (const auto* other = dynamic_cast<BlockCopy*>(variable.copy.get());
      copy == nullptr && other != nullptr && other->is_bound())
    return elsewhere(variable, other->device(), memory->device());
  if (copy != nullptr) CLEAVE_CHECK(copy->pass_to(use));
  if (copy != nullptr && variable.copied_version == variable.version) return copy->data();
  if (copy == nullptr) {
    if (variable.is_elsewhere) CLEAVE_CHECK(variable.copy->copy_out(variable.value));
    variable.is_elsewhere = false;
    CLEAVE_TRY(DeviceBlock block, DeviceBlock::make(memory, variable.value.bytes()));
    auto made = std::make_shared<BlockCopy>(memory, std::move(block));
    copy = made.get();
    CLEAVE_CHECK(copy->pass_to(use));
    variable.copy = std::move(made);
  }
  CLEAVE_CHECK(copy->copy_in(variable.value));
  variable.copied_version = variable.version;
  return copy->data();
}

Result<void*> bind_variable(Instance& instance, size_t placeholder, trace::VariableState& variable,
                            const void* bound, const std::shared_ptr<DeviceUse>& use) {
  HostTensor& t = variable.value;
  if (const std::shared_ptr<DeviceMemory>& memory = instance.device_memory()) {
    CLEAVE_TRY(void* const data, on_device(variable, memory, use));
    if (data != bound) CLEAVE_CHECK(instance.bind_there(placeholder, data, t.bytes()));
    return data;
  }
  variable.read_back();
  if (t.data() != bound) CLEAVE_CHECK(instance.bind(placeholder, {t.data(), t.bytes(), t.dtype()}));
  return t.data();
}

bool stays(const trace::VariableState& variable, const std::weak_ptr<const trace::DeviceCopy>& copy,
           const DeviceUse* use) {
  const bool is_same =
      variable.copy && !copy.owner_before(variable.copy) && !variable.copy.owner_before(copy);
  return is_same && !variable.bound_there && variable.copied_version == variable.version &&
         static_cast<const BlockCopy*>(variable.copy.get())->use() == use;
}

}  // namespace cleave
