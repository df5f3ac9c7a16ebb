#pragma once
#include <optional>
#include <string_view>

#include "cleave/device.h"

namespace cleave {

// Nothing for a text that names no device; "cuda" is cuda:0.
std::optional<Device> device_named(std::string_view text);

}  // namespace cleave
