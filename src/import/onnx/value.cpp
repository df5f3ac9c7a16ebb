#include "import/onnx/value.h"

namespace cleave::onnx {

Value value_of(std::shared_ptr<Weight> weight) {
  Value v;
  v.kind = Value::Kind::tensor;
  v.element = element_of(weight->tensor.dtype());
  v.weight = std::move(weight);
  return v;
}

}  // namespace cleave::onnx
