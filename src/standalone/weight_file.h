// Reads a .safetensors file where import/safetensors.h is too large to be linked. The same rules
// hold, and the file is as untrusted; what a header may hold beside them is less:
//
//   {"__metadata__": {"key": "text", ...}, "NAME": {"dtype": "F32", "shape": [2, 3],
//    "data_offsets": [begin, end]}, ...}
#pragma once
#include <cstddef>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "cleave/dtype.h"

namespace cleave::standalone {

struct FileTensor {
  DType dtype = DType::f32;
  std::vector<int64_t> shape;
  std::span<const std::byte> data;  // row-major
};

class WeightFile {
 public:
  // Errors (user), with the path: it can't be read, or breaks a rule.
  static Result<WeightFile> open(const std::string& path);
  const std::map<std::string, FileTensor>& tensors() const { return tensors_; }

 private:
  std::vector<std::byte> bytes_;
  std::map<std::string, FileTensor> tensors_;
};

}  // namespace cleave::standalone
