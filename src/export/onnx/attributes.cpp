#include "export/onnx/attributes.h"

namespace cleave::to_onnx {
namespace {

onnx::Attribute attribute(const std::string& name, onnx::AttributeType type) {
  onnx::Attribute a;
  a.name = name;
  a.type = static_cast<int64_t>(type);
  return a;
}

}  // namespace

onnx::Attribute integer(const std::string& name, int64_t value) {
  onnx::Attribute a = attribute(name, onnx::AttributeType::integer);
  a.i = value;
  return a;
}
onnx::Attribute real(const std::string& name, double value) {
  onnx::Attribute a = attribute(name, onnx::AttributeType::real);
  a.f = static_cast<float>(value);
  return a;
}
onnx::Attribute text(const std::string& name, const std::string& value) {
  onnx::Attribute a = attribute(name, onnx::AttributeType::text);
  a.s = value;
  return a;
}
onnx::Attribute integers(const std::string& name, const Ints& values) {
  onnx::Attribute a = attribute(name, onnx::AttributeType::integers);
  a.ints = values;
  return a;
}
onnx::Attribute graph(const std::string& name, onnx::GraphProto g) {
  onnx::Attribute a = attribute(name, onnx::AttributeType::graph);
  a.graph = std::make_shared<const onnx::GraphProto>(std::move(g));
  return a;
}

}  // namespace cleave::to_onnx
