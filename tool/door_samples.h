// The smallest file for each door that a model comes in by: y = w * x, w = {2, 3}.
#pragma once
#include <cstddef>
#include <vector>

namespace cleave::tool {

// Of torch.export.save: w: f32[2] is a parameter, x: f32[4,2].
std::vector<std::byte> sample_pt2();
// ONNX: the same.
std::vector<std::byte> sample_onnx();
// w alone.
std::vector<std::byte> sample_safetensors();

}  // namespace cleave::tool
