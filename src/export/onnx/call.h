// One call of an operator as its rule sees it: operands as values of ONNX, and nodes to write.
//
//   Status relu(Call& c) { c.give(0, c.node("Relu", {c.carried(0)})); return {}; }
//
// A rule that returns `unsupported` doesn't take this form of the call: what it wrote is forgotten,
// and the operator's decomposition takes its place.
#pragma once
#include <functional>
#include <string>
#include <vector>

#include "export/onnx/exporter.h"

namespace cleave::to_onnx {

class Call {
 public:
  Call(Exporter& exporter, const Graph& g, NodeId n, std::function<V(ValueId)> value_of);

  const OpView& op() const { return op_; }
  Exporter& exporter() { return exporter_; }
  ModelBuilder& model() { return exporter_.model(); }
  Sizes& sizes() { return exporter_.sizes(); }

  // ---- operands
  bool has(int k) const { return op_.has(k); }
  V in(int k) { return value_of_(op_.in(k)); }
  V in(int k, DType t) { return model().cast(in(k), t); }
  V carried(int k) { return in(k, to_onnx::carried(in(k).dtype)); }
  // A tensor or number in the dtype that carries `meet`, to which a tensor of another dtype is
  // converted first; a number is rounded to it if `rounded`.
  V operand(int k, DType meet, bool rounded = false);
  V item(int k) { return value_of_(op_.list_in(k)); }
  const Shape& shape(int k) const { return op_.in_type(k).shape; }
  int64_t rank(int k) const { return op_.in_type(k).rank(); }
  DType dtype(int k) const { return op_.in_type(k).dtype; }
  // A number of an attribute, in t.
  V number(const AttrValue& v, DType t);
  V number(double v, DType t) { return model().number(v, t); }

  // ---- nodes; a result has the dtype of the first operand
  V node(const std::string& onnx, const Vs& inputs, Attributes attributes = {}) {
    return model().node(onnx, inputs, inputs[0].dtype, std::move(attributes));
  }
  V node(const std::string& onnx, const Vs& inputs, DType result, Attributes attributes = {}) {
    return model().node(onnx, inputs, result, std::move(attributes));
  }
  V compare(const std::string& onnx, const V& a, const V& b) {
    return node(onnx, {a, b}, DType::boolean);
  }
  V cast(const V& x, DType t) { return model().cast(x, t); }
  // In a dtype that Where has.
  V where(const V& condition, const V& a, const V& b);
  // `from` is x's shape, if it is known here: dims that stay are copied.
  V reshape(const V& x, const Shape& to, const Shape& from = {});
  V flat(const V& x) { return node("Reshape", {x, model().list({-1})}); }
  V expand(const V& x, const Shape& to);
  V transpose(const V& x, const Ints& perm);
  V gather(const V& x, const V& index, int64_t axis) {
    return node("Gather", {x, index}, {integer("axis", axis)});
  }
  V slice(const V& x, int64_t dim, const Dim& start, const Dim& end, int64_t step = 1);
  V concat(const Vs& parts, int64_t axis);
  V unsqueeze(const V& x, const Ints& axes) { return node("Unsqueeze", {x, model().list(axes)}); }
  V squeeze(const V& x, const Ints& axes) { return node("Squeeze", {x, model().list(axes)}); }
  // Over these axes; x itself over none.
  V reduce(const std::string& onnx, const V& x, const Ints& axes, bool keep);
  V is_nan(const V& x) { return node("IsNaN", {x}, DType::boolean); }
  V nan_of(DType t);
  // 0, 1, ..., n - 1 as i64[n].
  V range(const Dim& n);
  V full(const V& number, const Shape& shape);
  // Failure (unsupported): a constant of so many elements, which are worked out here, is too large.
  Status check_count(const Ints& sizes) const;

  // ---- results
  const Type& result(int k) const { return op_.out_type(k); }
  bool wants(int k) const;
  // In the result's dtype.
  void give(int k, const V& v);
  const V& given(uint32_t k) const { return given_[k]; }
  void renamed(const std::string& from, const std::string& to);

  // This form isn't written.
  template <class... Args>
  Failure refused(fmt::format_string<Args...> text, Args&&... args) const {
    return unsupported(text, std::forward<Args>(args)...);
  }

 private:
  Exporter& exporter_;
  const Graph& graph_;
  NodeId node_;
  OpView op_;
  std::function<V(ValueId)> value_of_;
  Vs given_;
};

using Rule = Status (*)(Call&);
struct RuleEntry {
  const char* op;  // of cleave
  Rule rule;
};

}  // namespace cleave::to_onnx
