// Collects nodes and initialisers under names that are unique in the model.
//
//   ModelBuilder m;
//   V y = m.node("Add", {x, m.number(1, DType::f32)}, DType::f32);
//
// Nodes go to the innermost scope: the graph itself, or the body of an If or Loop that is being
// written. A body reads values of the scopes around it by their names, as ONNX allows.
#pragma once
#include <deque>
#include <functional>
#include <set>
#include <unordered_map>

#include "cleave/host_tensor.h"
#include "export/onnx/attributes.h"
#include "export/onnx/value.h"
#include "onnx/model.h"

namespace cleave::to_onnx {

class ModelBuilder {
 public:
  ModelBuilder() { scopes_.emplace_back(); }

  // ---- names
  // Takes the name as it is, or with a number behind it.
  std::string fresh(const std::string& stem);
  // What made values are called after, until it is changed.
  void name_after(std::string stem) { stem_ = std::move(stem); }

  // ---- nodes of the innermost scope
  V node(const std::string& op, const Vs& inputs, DType result, Attributes attributes = {});
  Vs nodes(const std::string& op, const Vs& inputs, const std::vector<DType>& results,
           Attributes attributes = {});
  // x itself if it has that dtype, and the same node for the same conversion.
  V cast(const V& x, DType t);
  // What `make` writes, once for equal texts in a scope and the bodies in it.
  V once(const std::string& what, const std::function<V()>& make) { return made("", what, make); }

  // ---- initialisers; small equal ones are one
  V constant(HostTensor t);
  // Rounded to the dtype, or truncated and wrapped.
  V number(double value, DType t);
  V integer_number(int64_t value, DType t = DType::i64);
  V list(const Ints& values);  // i64[n]
  V weight(const std::string& name, const HostTensor& t);
  // An attribute's tensor of one element.
  onnx::Attribute value_attribute(const V& constant);

  // ---- scopes
  void begin_body() { scopes_.emplace_back(); }
  std::vector<onnx::NodeProto> end_body();
  bool in_body() const { return scopes_.size() > 1; }

  // ---- edits of the innermost scope
  size_t mark() const { return scopes_.back().nodes.size(); }
  void roll_back(size_t mark);
  // Gives a value that a node since `mark` made this name, if it is free; its name from now on.
  std::string rename(size_t mark, const std::string& from, const std::string& to);
  // Whether a node of the innermost scope makes it.
  bool is_made_here(const std::string& name) const;

  // The graph without the nodes and initialisers that no output depends on.
  onnx::GraphProto finish(std::string name, std::vector<onnx::ValueInfo> inputs,
                          std::vector<onnx::ValueInfo> outputs);
  // What raw data of the tensors refer to.
  std::deque<HostTensor> take_memory() { return std::move(memory_); }

 private:
  // A value that may be read again: what was made of which other value.
  struct Made {
    std::string from, what;
    V value;
    size_t node;
    std::string key() const { return what + " " + from; }
  };
  struct Scope {
    std::vector<onnx::NodeProto> nodes;
    std::vector<Made> made;                      // in order of `node`
    std::unordered_map<std::string, size_t> at;  // by key, in `made`
  };
  V made(const std::string& from, const std::string& what, const std::function<V()>& make);
  V add_initialiser(const std::string& name, const HostTensor& t);

  std::vector<Scope> scopes_;
  std::set<std::string> names_;
  std::unordered_map<std::string, int64_t> next_number_;
  std::string stem_ = "value";
  std::vector<onnx::TensorProto> initialisers_;
  std::unordered_map<std::string, std::string> constants_;  // by type and bytes: the name
  std::deque<HostTensor> memory_;
};

}  // namespace cleave::to_onnx
