// An ONNX file as plain structs: what its messages hold that a graph is made of. Names and numbers
// of fields are those of onnx.proto, version 1.22 (IR version 13).
#pragma once
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "onnx/element.h"

namespace cleave::onnx {

struct TensorProto {
  std::string name;
  Element element = Element::undefined;
  std::vector<int64_t> dims;
  // One of these holds the elements.
  std::vector<float> float_data;
  std::vector<int64_t> int_data;  // int32_data, int64_data and uint64_data
  std::vector<double> double_data;
  std::vector<std::string> string_data;
  std::span<const std::byte> raw;  // in the file's bytes
  bool has_raw = false;
  bool external = false;
  std::map<std::string, std::string> external_data;
};

struct Dimension {
  std::optional<int64_t> value;
  std::string param;  // empty: not named
};

struct TypeProto {
  enum class Kind : uint8_t { none, tensor, sequence, map, optional, sparse };
  Kind kind = Kind::none;
  Element element = Element::undefined;
  std::optional<std::vector<Dimension>> shape;  // none: the rank isn't known
  std::shared_ptr<const TypeProto> inner;       // of a sequence or an optional
};

struct ValueInfo {
  std::string name;
  TypeProto type;
};

struct GraphProto;

// AttributeProto.AttributeType.
enum class AttributeType : int64_t {
  real = 1,
  integer = 2,
  text = 3,
  tensor = 4,
  graph = 5,
  reals = 6,
  integers = 7,
  texts = 8
};

struct Attribute {
  std::string name;
  std::string reference;  // the function's attribute that it stands for
  int64_t type = 0;
  float f = 0;
  int64_t i = 0;
  std::string s;
  std::shared_ptr<const TensorProto> tensor;
  std::shared_ptr<const GraphProto> graph;
  std::shared_ptr<const TypeProto> type_proto;
  std::vector<float> floats;
  std::vector<int64_t> ints;
  std::vector<std::string> strings;
};

struct NodeProto {
  std::string name, op, domain, overload;
  std::vector<std::string> inputs, outputs;
  std::vector<Attribute> attributes;
};

struct GraphProto {
  std::string name;
  std::vector<NodeProto> nodes;
  std::vector<TensorProto> initializers;
  std::vector<ValueInfo> inputs, outputs;
  size_t sparse_initializers = 0;
};

struct FunctionProto {
  std::string name, domain, overload;
  std::vector<std::string> inputs, outputs;
  std::vector<Attribute> defaults;  // of attributes that a call may leave out
  std::vector<NodeProto> nodes;
  std::map<std::string, int64_t> opsets;
};

struct ModelProto {
  int64_t ir_version = 0;
  std::string producer;
  std::map<std::string, int64_t> opsets;  // by domain; "" is ONNX's own
  std::optional<GraphProto> graph;
  std::vector<FunctionProto> functions;
  bool has_training_info = false;
};

}  // namespace cleave::onnx
