// Inputs in the memory of an instance's device: they are copied there before a run, not by it, so
// that the time of a run is the program's.
#pragma once
#include <vector>

#include "backend/device_memory.h"
#include "exec/executable.h"

namespace cleave::tool {

class DeviceInputs {
 public:
  // Binds a placeholder to memory of the device of as many bytes, if the instance has one, and to
  // this memory if not.
  Status bind(Instance& run, size_t placeholder, const HostMemory& host) {
    const std::shared_ptr<DeviceMemory>& memory = run.device_memory();
    if (!memory) return run.bind(placeholder, host);
    CLEAVE_TRY(DeviceBlock block, DeviceBlock::make(memory, host.bytes));
    CLEAVE_CHECK(run.bind_there(placeholder, block.data(), host.bytes));
    memory_ = memory;
    inputs_.push_back({host.data, std::move(block)});
    return {};
  }
  // Copies all of them, and waits.
  Status copy_in() const {
    for (const auto& [host, block] : inputs_)
      if (block.bytes() > 0)
        CLEAVE_CHECK(memory_->copy_in(block.data(), host, block.bytes(), nullptr));
    return memory_ ? memory_->wait(nullptr) : Status();
  }

 private:
  struct Input {
    const void* host;
    DeviceBlock block;
  };
  std::shared_ptr<DeviceMemory> memory_;
  std::vector<Input> inputs_;
};

}  // namespace cleave::tool
