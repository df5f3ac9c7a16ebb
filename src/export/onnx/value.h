// A value of the ONNX graph that is being written: its name, and the dtype that it has there.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "cleave/dtype.h"

namespace cleave::to_onnx {

struct V {
  std::string name;  // empty: an operand that is left out
  DType dtype = DType::f32;
};
using Vs = std::vector<V>;
using Ints = std::vector<int64_t>;

// The dtype in which numbers of t are computed: f32 for bf16 and f16, i32 for narrow integers and
// bool. Each of their values is one of it, and each operator has a kernel for it in onnxruntime; a
// result is rounded, or wrapped, once, by a Cast at its end.
constexpr DType carried(DType t) {
  switch (t) {
    case DType::bf16:
    case DType::f16: return DType::f32;
    case DType::i16:
    case DType::i8:
    case DType::u8:
    case DType::boolean: return DType::i32;
    default: return t;
  }
}

}  // namespace cleave::to_onnx
