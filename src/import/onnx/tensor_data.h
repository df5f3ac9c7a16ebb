// The elements of a TensorProto in the dtype that carries them (element.h).
#pragma once
#include <string>

#include "base/result.h"
#include "cleave/host_tensor.h"
#include "ir/array.h"
#include "onnx/model.h"

namespace cleave::onnx {

// The folder that external data may lie in, with all of its folders; empty: they are refused.
struct DataFolder {
  std::string path;
};

// The number of elements. Errors (user): a negative dim; more than 2^60 bytes.
Result<int64_t> count_elements(const TensorProto& t);

// Holds a copy, in memory of as many bytes as the file has for it (small types take a byte or four
// an element). Errors (user): elements that are missing or too many; external data outside the
// model's folder, or beyond its file's end. Unsupported: texts and complex numbers.
Result<HostTensor> read_elements(const TensorProto& t, const DataFolder& folder);

// The same as the oracle holds numbers.
Array as_array(const HostTensor& t);
HostTensor as_host_tensor(const Array& a);

}  // namespace cleave::onnx
