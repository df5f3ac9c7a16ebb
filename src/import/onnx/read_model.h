// Reads an ONNX file's messages into plain structs (model.h). Unknown fields are skipped.
#pragma once
#include <cstddef>
#include <span>

#include "base/result.h"
#include "onnx/model.h"

namespace cleave::onnx {

// `bytes` must live as long as the model: raw data of tensors lie in them. Errors (user): the bytes
// aren't a ModelProto, or end too early; each names the byte.
Result<ModelProto> read_model(std::span<const std::byte> bytes);

// A TensorProto by itself, as in the files of test data.
Result<TensorProto> read_tensor(std::span<const std::byte> bytes);

}  // namespace cleave::onnx
