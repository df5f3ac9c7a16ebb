#include "exec/device_variable.h"

namespace cleave {
namespace {

class BlockCopy final : public trace::DeviceCopy {
 public:
  BlockCopy(std::shared_ptr<DeviceMemory> memory, DeviceBlock block)
      : memory_(std::move(memory)), block_(std::move(block)) {}
  ~BlockCopy() override {
    if (use_) use_->wait();
  }

  Status copy_out(HostTensor& to) const override {
    if (use_) CLEAVE_CHECK(use_->settle());
    if (block_.bytes() == 0) return {};
    CLEAVE_CHECK(memory_->copy_out(to.data(), block_.data(), block_.bytes(), nullptr));
    return memory_->wait(nullptr);
  }
  Status copy_in(const HostTensor& from) override {
    if (use_) CLEAVE_CHECK(use_->settle());
    if (block_.bytes() == 0) return {};
    CLEAVE_CHECK(memory_->copy_in(block_.data(), from.data(), block_.bytes(), nullptr));
    return memory_->wait(nullptr);
  }
  const std::shared_ptr<DeviceMemory>& memory() const { return memory_; }
  void* data() const { return block_.data(); }

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
  std::shared_ptr<DeviceUse> use_;
};

// The Variable's copy, if it is in this memory.
BlockCopy* copy_in(const trace::VariableState& variable,
                   const std::shared_ptr<DeviceMemory>& memory) {
  auto* const copy = dynamic_cast<BlockCopy*>(variable.copy.get());
  return copy != nullptr && copy->memory() == memory ? copy : nullptr;
}

}  // namespace

bool has_place(trace::VariableState& variable, const std::shared_ptr<DeviceMemory>& memory) {
  const std::lock_guard lock(variable.copy_mutex);
  return copy_in(variable, memory) != nullptr;
}

Result<void*> on_device(trace::VariableState& variable, const std::shared_ptr<DeviceMemory>& memory,
                        const std::shared_ptr<DeviceUse>& use) {
  const std::lock_guard lock(variable.copy_mutex);
  BlockCopy* copy = copy_in(variable, memory);
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

bool stays(const trace::VariableState& variable, const trace::DeviceCopy* copy,
           const DeviceUse* use) {
  return copy != nullptr && variable.copy.get() == copy &&
         variable.copied_version == variable.version &&
         static_cast<const BlockCopy*>(copy)->use() == use;
}

}  // namespace cleave
