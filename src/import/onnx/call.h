// One node as its rule sees it: operands, attributes, and calls of cleave's operators.
//
//   Status hard_swish(Call& c) { c.give(0, c.op("hardswish", {c.in(0)})); return {}; }
//
// A call whose operands are all known now is computed now as well, by the operator's reference rule
// (as long as it is small), so that shapes are numbers where rules ask for them.
#pragma once
#include <optional>
#include <string>
#include <vector>

#include "import/onnx/importer.h"

namespace cleave::onnx {

using V = ValueId;
using Ints = std::vector<int64_t>;

class Call {
 public:
  Call(Importer& importer, const NodeProto& node, const Context& context,
       std::vector<Value> inputs);

  const NodeProto& node() const { return node_; }
  const Context& context() const { return context_; }
  Importer& importer() { return importer_; }
  Builder& builder() { return builder_; }
  int64_t version() const { return version_; }  // of the operator set
  const Status& status() const { return builder_.status(); }

  // ---- operands
  size_t count() const { return inputs_.size(); }
  bool has(size_t i) const { return i < inputs_.size() && inputs_[i].present(); }
  const Value& value(size_t i) const;  // absent beyond the last one
  V in(size_t i);                      // none if it is absent
  Type type(size_t i) const;
  Shape shape(size_t i) const { return type(i).shape; }
  int64_t rank(size_t i) const { return type(i).rank(); }
  DType dtype(size_t i) const { return type(i).dtype; }
  Element element(size_t i) const { return has(i) ? inputs_[i].element : Element::undefined; }
  // Failures (unsupported): a size is symbolic; the value depends on what the program is given.
  Result<Ints> sizes(size_t i) const;
  Result<Array> constant(size_t i, const char* what);
  Result<Ints> ints(size_t i, const char* what);
  Result<std::vector<Dim>> dims(size_t i, const char* what);
  // The value, or nothing.
  std::shared_ptr<const Array> known(size_t i) const;
  std::optional<std::vector<Dim>> known_dims(size_t i) const;

  // ---- attributes
  const Attribute* attribute(const std::string& name) const;
  bool given(const std::string& name) const { return attribute(name) != nullptr; }
  int64_t integer(const std::string& name, int64_t otherwise = 0) const;
  double real(const std::string& name, double otherwise = 0) const;
  std::string text(const std::string& name, const std::string& otherwise = "") const;
  Ints list(const std::string& name, const Ints& otherwise = {}) const;
  std::vector<double> reals(const std::string& name) const;
  // axis counted from 0. Failure (user): it is outside [-rank, rank).
  Result<int64_t> axis(int64_t axis, int64_t rank) const;
  Result<Ints> axes(Ints axes, int64_t rank) const;
  // Axes of an attribute, which became an input of that place at opset `moved`; empty where none.
  Result<Ints> axes_of(size_t input, int64_t moved, bool& given);

  // ---- calls
  Values ops(const std::string& name, std::vector<CallOperand> operands, NamedAttrs attrs = {});
  V op(const std::string& name, std::vector<CallOperand> operands, NamedAttrs attrs = {});
  // Of an invalid value, after a failure: 64 dims of 1, so that rules may look at any of them.
  const Type& type(V v) const;
  const Shape& shape(V v) const { return type(v).shape; }
  int64_t rank(V v) const { return type(v).rank(); }
  V add(CallOperand x, CallOperand y) { return op("add", {std::move(x), std::move(y)}); }
  V sub(CallOperand x, CallOperand y) { return op("sub", {std::move(x), std::move(y)}); }
  V mul(CallOperand x, CallOperand y) { return op("mul", {std::move(x), std::move(y)}); }
  V div(CallOperand x, CallOperand y) { return op("div", {std::move(x), std::move(y)}); }
  V where(V c, CallOperand x, CallOperand y) {
    return op("where", {c, std::move(x), std::move(y)});
  }
  V convert(V x, DType t);  // x itself if it has that dtype
  V view(V x, Shape size);  // x itself if it has that shape
  V expand(V x, Shape size);
  V permute(V x, Ints dims);
  V unsqueeze(V x, int64_t dim);
  V sum(V x, Ints dims, bool keep = false);
  V mean(V x, Ints dims, bool keep = false);
  V amax(V x, Ints dims, bool keep = false);
  V slice(V x, int64_t dim, Dim start, Dim end, int64_t step = 1);
  V select(V x, int64_t dim, int64_t index);
  V cat(Values xs, int64_t dim);
  V full(Shape shape, double value, DType t);
  V tensor(const std::string& name, HostTensor t);  // a const of the program
  V tensor(const std::string& name, const Ints& values);
  V floats(const std::string& name, const std::vector<double>& values, const Ints& shape, DType t);
  // x in another type of ONNX, from `from`.
  V cast(V x, Element from, Element to, bool saturate = true);
  V matmul(V x, V y);  // as numpy.matmul, of floats

  // ---- results
  size_t results() const { return node_.outputs.size(); }
  bool wants(size_t k) const { return k < results() && !node_.outputs[k].empty(); }
  void give(size_t k, V v);  // of the dtype's own element type
  void give(size_t k, V v, Element e);
  void give(size_t k, Value v);
  const std::vector<Value>& given() const { return outputs_; }

  Failure refused(const std::string& why) const { return unsupported("{}", why); }

 private:
  void fold(const Values& outs);

  Importer& importer_;
  const NodeProto& node_;
  const Context& context_;
  Builder builder_;
  int64_t version_ = 0;
  std::vector<Value> inputs_;
  std::vector<Value> outputs_;
};

// The rule of an operator.
using Rule = Status (*)(Call&);
struct RuleEntry {
  const char* op;
  Rule rule;
};
// Null where there is none.
Rule find_rule(const std::string& domain, const std::string& op);

}  // namespace cleave::onnx
