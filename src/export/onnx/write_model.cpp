#include "export/onnx/write_model.h"

#include <filesystem>
#include <map>

#include "base/write_file.h"

namespace cleave::to_onnx {
namespace {

using onnx::WireWriter;

// Where tensors lie that aren't in the model.
struct External {
  std::string location;
  std::map<const onnx::TensorProto*, uint64_t> offsets;
};

WireWriter encode(const onnx::GraphProto& g, const External& external);

WireWriter entry(const std::string& key, const std::string& value) {
  WireWriter w;
  w.text(1, key).text(2, value);
  return w;
}

WireWriter encode(const onnx::TensorProto& t, const External& external) {
  WireWriter w;
  w.numbers(1, t.dims).number(2, static_cast<int64_t>(t.element));
  if (!t.name.empty()) w.text(8, t.name);
  const auto outside = external.offsets.find(&t);
  if (outside == external.offsets.end()) {
    w.bytes(9, t.raw);
    return w;
  }
  w.message(13, entry("location", external.location))
      .message(13, entry("offset", std::to_string(outside->second)))
      .message(13, entry("length", std::to_string(t.raw.size())))
      .number(14, 1);
  return w;
}

WireWriter encode(const onnx::TypeProto& t) {
  WireWriter tensor;
  tensor.number(1, static_cast<int64_t>(t.element));
  if (t.shape) {
    WireWriter shape;
    for (const onnx::Dimension& d : *t.shape) {
      WireWriter dim;
      if (d.value)
        dim.number(1, *d.value);
      else if (!d.param.empty())
        dim.text(2, d.param);
      shape.message(1, std::move(dim));
    }
    tensor.message(2, std::move(shape));
  }
  WireWriter w;
  w.message(1, std::move(tensor));
  return w;
}

WireWriter encode(const onnx::ValueInfo& v) {
  WireWriter w;
  w.text(1, v.name).message(2, encode(v.type));
  return w;
}

WireWriter encode(const onnx::Attribute& a, const External& external) {
  WireWriter w;
  w.text(1, a.name);
  switch (static_cast<onnx::AttributeType>(a.type)) {
    case onnx::AttributeType::real: w.real(2, a.f); break;
    case onnx::AttributeType::integer: w.number(3, a.i); break;
    case onnx::AttributeType::text: w.text(4, a.s); break;
    case onnx::AttributeType::tensor: w.message(5, encode(*a.tensor, external)); break;
    case onnx::AttributeType::graph: w.message(6, encode(*a.graph, external)); break;
    case onnx::AttributeType::reals: w.reals(7, a.floats); break;
    case onnx::AttributeType::integers: w.numbers(8, a.ints); break;
    case onnx::AttributeType::texts:
      for (const std::string& s : a.strings) w.text(9, s);
      break;
  }
  w.number(20, a.type);
  return w;
}

WireWriter encode(const onnx::NodeProto& n, const External& external) {
  WireWriter w;
  for (const std::string& name : n.inputs) w.text(1, name);
  for (const std::string& name : n.outputs) w.text(2, name);
  if (!n.name.empty()) w.text(3, n.name);
  w.text(4, n.op);
  for (const onnx::Attribute& a : n.attributes) w.message(5, encode(a, external));
  if (!n.domain.empty()) w.text(7, n.domain);
  return w;
}

WireWriter encode(const onnx::GraphProto& g, const External& external) {
  WireWriter w;
  for (const onnx::NodeProto& n : g.nodes) w.message(1, encode(n, external));
  w.text(2, g.name);
  for (const onnx::TensorProto& t : g.initializers) w.message(5, encode(t, external));
  for (const onnx::ValueInfo& v : g.inputs) w.message(11, encode(v));
  for (const onnx::ValueInfo& v : g.outputs) w.message(12, encode(v));
  return w;
}

WireWriter encode(const onnx::ModelProto& model, const External& external) {
  WireWriter w;
  w.number(1, model.ir_version).text(2, model.producer);
  w.message(7, encode(*model.graph, external));
  for (const auto& [domain, version] : model.opsets) {
    WireWriter opset;
    opset.text(1, domain).number(2, version);
    w.message(8, std::move(opset));
  }
  return w;
}

// The tensors beside the model, with zeros between them.
Status write_data(const std::string& path, const onnx::GraphProto& g, const FileLimits& limits,
                  External& external) {
  const std::vector<std::byte> zeros(limits.alignment);
  std::vector<std::span<const std::byte>> pieces;
  uint64_t end = 0;
  for (const onnx::TensorProto& t : g.initializers) {
    if (t.raw.size() < limits.least_external) continue;
    if (const uint64_t over = end % limits.alignment; over != 0) {
      pieces.push_back(std::span(zeros).first(limits.alignment - over));
      end += pieces.back().size();
    }
    external.offsets[&t] = end;
    pieces.push_back(t.raw);
    end += t.raw.size();
  }
  return write_file(path, pieces);
}

}  // namespace

onnx::WireWriter encode(const onnx::ModelProto& model) { return encode(model, {}); }

Status write_model(const std::string& path, const onnx::ModelProto& model,
                   const FileLimits& limits) {
  WireWriter whole = encode(model);
  if (whole.size() > limits.largest_model) {
    const std::string data = path + ".data";
    External external{std::filesystem::path(data).filename().string(), {}};
    CLEAVE_CHECK(write_data(data, *model.graph, limits, external));
    whole = encode(model, external);
    if (whole.size() > limits.largest_model)
      return user_error("{}: the model takes {} bytes without its tensors, at most {} can be read",
                        path, whole.size(), limits.largest_model);
  }
  return write_file(path, whole.pieces());
}

}  // namespace cleave::to_onnx
