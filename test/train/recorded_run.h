// Runs that scripts of test/peer wrote with PyTorch, as tensors of a file.
#pragma once
#include <cstring>

#include "import/safetensors.h"
#include "test/trace/traced.h"

namespace cleave::test {

inline HostTensor tensor(const SafetensorsFile& file, const std::string& name) {
  const TensorEntry* e = file.find(name);
  HostTensor t(e->dtype, e->shape);
  std::memcpy(t.data(), e->data.data(), e->data.size());
  return t;
}

// Row i of the first dim.
inline HostTensor row(const HostTensor& t, int64_t i) {
  HostTensor out(t.dtype(), {t.shape().begin() + 1, t.shape().end()});
  std::memcpy(out.data(), static_cast<const char*>(t.data()) + i * out.bytes(),
              static_cast<size_t>(out.bytes()));
  return out;
}

}  // namespace cleave::test
