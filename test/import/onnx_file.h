// ONNX files for tests, encoded field by field, so that no binary files are kept.
//
//   OnnxFile file;
//   file.input("x", {2, 3}).initializer("w", HostTensor::from<float>({...}, {3, 2}));
//   file.node("MatMul", {"x", "w"}, {"y"}, {onnx_int("axis", 1)}).output("y");
//   file.bytes();
#pragma once
#include <bit>
#include <cstring>
#include <string>
#include <vector>

#include "cleave/host_tensor.h"
#include "onnx/element.h"

namespace cleave {

// The fields of a message, one after the other.
class OnnxMessage {
 public:
  OnnxMessage& number(uint64_t field, int64_t value) {
    return varint(field << 3).varint(static_cast<uint64_t>(value));
  }
  OnnxMessage& real(uint64_t field, float value) {
    varint(field << 3 | 5);
    const auto bits = std::bit_cast<uint32_t>(value);
    for (int k = 0; k < 4; ++k) bytes_ += static_cast<char>(bits >> (8 * k));
    return *this;
  }
  OnnxMessage& text(uint64_t field, const std::string& value) {
    varint(field << 3 | 2).varint(value.size());
    bytes_ += value;
    return *this;
  }
  OnnxMessage& message(uint64_t field, const OnnxMessage& m) { return text(field, m.bytes_); }
  const std::string& bytes() const { return bytes_; }

 private:
  OnnxMessage& varint(uint64_t v) {
    for (; v >= 0x80; v >>= 7) bytes_ += static_cast<char>(v | 0x80);
    bytes_ += static_cast<char>(v);
    return *this;
  }
  std::string bytes_;
};

inline OnnxMessage onnx_tensor(const std::string& name, const HostTensor& t,
                               onnx::Element e = onnx::Element::undefined) {
  OnnxMessage m;
  for (const int64_t d : t.shape()) m.number(1, d);
  m.number(2,
           static_cast<int64_t>(e == onnx::Element::undefined ? onnx::element_of(t.dtype()) : e));
  m.text(8, name);
  m.text(9, std::string(static_cast<const char*>(t.data()), static_cast<size_t>(t.bytes())));
  return m;
}

// ---- attributes

inline OnnxMessage onnx_attribute(const std::string& name, int64_t type) {
  return OnnxMessage().text(1, name).number(20, type);
}
inline OnnxMessage onnx_int(const std::string& name, int64_t v) {
  return onnx_attribute(name, 2).number(3, v);
}
inline OnnxMessage onnx_float(const std::string& name, float v) {
  return onnx_attribute(name, 1).real(2, v);
}
inline OnnxMessage onnx_text(const std::string& name, const std::string& v) {
  return onnx_attribute(name, 3).text(4, v);
}
inline OnnxMessage onnx_ints(const std::string& name, const std::vector<int64_t>& values) {
  OnnxMessage m = onnx_attribute(name, 7);
  for (const int64_t v : values) m.number(8, v);
  return m;
}
inline OnnxMessage onnx_value(const HostTensor& t) {
  return onnx_attribute("value", 4).message(5, onnx_tensor("", t));
}
inline OnnxMessage onnx_body(const std::string& name, const OnnxMessage& graph) {
  return onnx_attribute(name, 5).message(6, graph);
}
// In a function's body: the attribute of its call.
inline OnnxMessage onnx_reference(const std::string& name, const std::string& of, int64_t type) {
  return onnx_attribute(name, type).text(21, of);
}

using OnnxNames = std::vector<std::string>;
inline OnnxMessage onnx_node(const std::string& op, const OnnxNames& inputs,
                             const OnnxNames& outputs,
                             const std::vector<OnnxMessage>& attributes = {},
                             const std::string& domain = "") {
  OnnxMessage m;
  for (const std::string& name : inputs) m.text(1, name);
  for (const std::string& name : outputs) m.text(2, name);
  m.text(3, "node of " + (outputs.empty() ? "nothing" : outputs[0])).text(4, op);
  for (const OnnxMessage& a : attributes) m.message(5, a);
  if (!domain.empty()) m.text(7, domain);
  return m;
}

class OnnxFile {
 public:
  int64_t opset = 21, ir_version = 10;

  // A dim of -1 is open; one of a name is `symbols`' of its place.
  OnnxFile& input(const std::string& name, const std::vector<int64_t>& shape,
                  onnx::Element e = onnx::Element::f32, const OnnxNames& symbols = {}) {
    OnnxMessage dims;
    for (size_t d = 0; d < shape.size(); ++d) {
      OnnxMessage dim;
      if (d < symbols.size() && !symbols[d].empty())
        dim.text(2, symbols[d]);
      else if (shape[d] >= 0)
        dim.number(1, shape[d]);
      dims.message(1, dim);
    }
    graph_.message(
        11, OnnxMessage().text(1, name).message(
                2, OnnxMessage().message(
                       1, OnnxMessage().number(1, static_cast<int64_t>(e)).message(2, dims))));
    return *this;
  }
  OnnxFile& output(const std::string& name) {
    graph_.message(12, OnnxMessage().text(1, name));
    return *this;
  }
  OnnxFile& initializer(const std::string& name, const HostTensor& t) {
    return initializer(onnx_tensor(name, t));
  }
  OnnxFile& initializer(const OnnxMessage& tensor) {
    graph_.message(5, tensor);
    return *this;
  }
  OnnxFile& node(const std::string& op, const OnnxNames& inputs, const OnnxNames& outputs,
                 const std::vector<OnnxMessage>& attributes = {}, const std::string& domain = "") {
    graph_.message(1, onnx_node(op, inputs, outputs, attributes, domain));
    return *this;
  }
  // A function of the domain "own".
  OnnxFile& function(const std::string& name, const OnnxNames& inputs, const OnnxNames& outputs,
                     const std::vector<OnnxMessage>& nodes) {
    OnnxMessage f;
    f.text(1, name);
    for (const std::string& n : inputs) f.text(4, n);
    for (const std::string& n : outputs) f.text(5, n);
    for (const OnnxMessage& n : nodes) f.message(7, n);
    f.message(9, OnnxMessage().text(1, "").number(2, opset)).text(10, "own");
    functions_.push_back(f);
    return *this;
  }
  const OnnxMessage& graph() const { return graph_; }
  std::string bytes() const {
    OnnxMessage m;
    m.number(1, ir_version).text(2, "a test").message(7, graph_);
    m.message(8, OnnxMessage().text(1, "").number(2, opset));
    m.message(8, OnnxMessage().text(1, "own").number(2, 1));
    for (const OnnxMessage& f : functions_) m.message(25, f);
    return m.bytes();
  }

 private:
  OnnxMessage graph_;
  std::vector<OnnxMessage> functions_;
};

}  // namespace cleave
