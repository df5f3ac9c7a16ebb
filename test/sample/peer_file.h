// Calls and arrays as a peer framework's script reads them.
#pragma once
#include <deque>
#include <nlohmann/json.hpp>

#include "import/safetensors.h"
#include "ir/array.h"
#include "ir/graph.h"

namespace cleave::law {

using Json = nlohmann::ordered_json;

// true, 3, 1.5, {"float": "inf"}, "tanh", {"dtype": "f32"}, {"memory_format": "channels_last"} and
// lists
Json json_of(const AttrValue& v);

// The arguments of a call in the signature's order, those left out left out:
// [["self", {"tensor": "x"}], ["tensors", {"tensors": ["a", null]}], ["dim", {"value": 1}]]
Json arguments_of(const Graph& g, NodeId n);

// A safetensors file to be.
class TensorFile {
 public:
  void add(const std::string& name, const Array& a);
  Status write(const std::string& path) const { return write_safetensors(path, entries_); }

 private:
  std::deque<std::vector<std::byte>> memory_;
  std::vector<TensorEntry> entries_;
};

}  // namespace cleave::law
