// The doors that a model comes in by: each reads its smallest model, or says what is missing.
#pragma once
#include <vector>

#include "tool/doctor_checks.h"

namespace cleave::tool {

// safetensors, pt2, onnx, python package, torch.compile.
std::vector<DoctorCheck> door_checks();

}  // namespace cleave::tool
