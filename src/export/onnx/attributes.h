// Attributes of ONNX nodes.
#pragma once
#include <string>
#include <vector>

#include "export/onnx/value.h"
#include "onnx/model.h"

namespace cleave::to_onnx {

using Attributes = std::vector<onnx::Attribute>;
onnx::Attribute integer(const std::string& name, int64_t value);
onnx::Attribute real(const std::string& name, double value);
onnx::Attribute text(const std::string& name, const std::string& value);
onnx::Attribute integers(const std::string& name, const Ints& values);
onnx::Attribute graph(const std::string& name, onnx::GraphProto g);

}  // namespace cleave::to_onnx
