// What autocast does to the operands of a call, on the CPU.
#pragma once
#include <optional>
#include <string_view>

#include "cleave/dtype.h"

namespace cleave::exported {

// The dtype that floating operands of the operator are converted to in a region of autocast to
// `low`, f64 left out; nothing: they stay. Source: ATen/autocast_mode.h, PyTorch 2.13.
std::optional<DType> autocast_dtype(std::string_view op, DType low);

}  // namespace cleave::exported
