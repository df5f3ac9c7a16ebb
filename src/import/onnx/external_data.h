// The bytes of a tensor that lie in a file beside the model.
#pragma once
#include <cstddef>
#include <vector>

#include "base/result.h"
#include "import/onnx/tensor_data.h"

namespace cleave::onnx {

// Where the bytes of `t` lie: a path inside the folder, and the part of that file. Errors (user):
// no location; a path that is absolute, holds `..` or leads out of the folder by a link; no regular
// file; a part beyond its end.
Result<std::vector<std::byte>> read_external(const TensorProto& t, const DataFolder& folder,
                                             size_t expected_bytes);

}  // namespace cleave::onnx
