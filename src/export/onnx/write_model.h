// An ONNX model as files: the messages of onnx/model.h in the wire format.
//
//   M.onnx          the model, with the weights inside
//   M.onnx.data     where it would be larger than a protocol buffer may be: tensors from 1 KiB on,
//                   one after the other, each at a multiple of 4096 bytes
#pragma once
#include <string>

#include "base/result.h"
#include "onnx/model.h"
#include "onnx/wire_writer.h"

namespace cleave::to_onnx {

struct FileLimits {
  uint64_t largest_model = (uint64_t{1} << 31) - 1;
  uint64_t least_external = 1024;  // bytes of a tensor
  uint64_t alignment = 4096;
};

// The model as one message; raw data of tensors are referred to, not copied.
onnx::WireWriter encode(const onnx::ModelProto& model);

// Each file is written completely or not at all, that of the data first. Errors (user): a file
// can't be written; the model is too large even without the tensors' data.
Status write_model(const std::string& path, const onnx::ModelProto& model,
                   const FileLimits& limits = {});

}  // namespace cleave::to_onnx
