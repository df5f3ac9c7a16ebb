// Where a program runs, and its values lie.
//
//   CompiledFunction f = compile(model, forward, inputs, {.device = Device::cuda(0)});
//   Device::parse("cuda:1").text();   // "cuda:1"
//
// A device other than the processor has memory of its own. A run copies inputs of the host there
// (cleave/host_tensor.h), others are there already (cleave/device_tensor.h), and results back when
// they are asked for. Variables move there with the first run, stay there, and are copied back when
// the host program reads them (cleave/store.h).
#pragma once
#include <cstdint>
#include <string>
#include <string_view>

#include "cleave/error.h"

namespace cleave {

enum class DeviceKind : uint8_t { cpu, cuda };

struct Device {
  DeviceKind kind = DeviceKind::cpu;
  int16_t index = 0;  // among those of its kind; 0 of the processor

  static constexpr Device cpu() { return {}; }
  static constexpr Device cuda(int16_t index = 0) { return {DeviceKind::cuda, index}; }
  // "cpu", "cuda", which is cuda:0, or "cuda:1". Error (user): any other text.
  CLEAVE_API static Device parse(std::string_view text);
  CLEAVE_API std::string text() const;  // "cpu", "cuda:0"
  constexpr bool is_cpu() const { return kind == DeviceKind::cpu; }

  friend bool operator==(const Device&, const Device&) = default;
};

}  // namespace cleave
