// What a name of an ONNX graph stands for while the graph is imported.
#pragma once
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "cleave/host_tensor.h"
#include "ir/array.h"
#include "ir/graph.h"
#include "onnx/element.h"

namespace cleave::onnx {

// Elements that the file holds. They become a placeholder of the program where they are read.
struct Weight {
  std::string name;
  HostTensor tensor;
  bool trained = false;  // an initializer of floats: a param that asks for its gradient
  ValueId id = {};       // the placeholder, once there is one
};

struct Value {
  // `nothing`: an optional without a value; `refused`: what would give it isn't covered.
  enum class Kind : uint8_t { absent, tensor, sequence, nothing, refused };
  Kind kind = Kind::absent;
  Element element = Element::undefined;
  ValueId id = {};  // of the graph `frame`; invalid: it is `weight` or `dims`
  size_t frame = 0;
  std::shared_ptr<Weight> weight = {};
  // Sizes computed while importing: the elements of an i64 of 0 or 1 dims.
  std::optional<std::vector<Dim>> dims = {};
  bool dims_scalar = false;
  std::vector<Value> items = {};  // of a sequence

  bool present() const { return kind != Kind::absent; }
};

// The tensor that a weight is.
Value value_of(std::shared_ptr<Weight> weight);

}  // namespace cleave::onnx
