// Appends calls to a graph, for decompositions, gradients, passes and traces.
//
//   Builder b(graph, registry);
//   ValueId e = b.exp(b.sub(x, b.amax(x, {-1}, true)));
//   if (!b.status().ok()) ...
//
// The first failure is kept: later calls do nothing and return none ids, so that rules can be
// written as expressions.
#pragma once
#include <initializer_list>
#include <string>
#include <vector>

#include "ir/graph.h"

namespace cleave {

// An operand of Builder::call: a value, none, a number, or a list of values.
struct CallOperand {
  std::vector<ValueId> values;
  bool is_list = false;
  AttrValue number;
  CallOperand(ValueId v) : values{v} {}
  CallOperand(std::vector<ValueId> l) : values(std::move(l)), is_list(true) {}
  CallOperand(double v) : number(v) {}
  CallOperand(int v) : number(v) {}
  CallOperand(bool v) : number(v) {}
  CallOperand(AttrValue v) : number(std::move(v)) {}
};

using NamedAttrs = std::vector<std::pair<std::string, AttrValue>>;

class Builder {
 public:
  Builder(Graph& graph, const OpRegistry& ops) : graph_(graph), ops_(ops) {}

  Graph& graph() { return graph_; }
  const OpRegistry& ops() const { return ops_; }
  const Type& type(ValueId v) const { return graph_.type(v); }
  const Status& status() const { return status_; }
  void fail(Failure f) {
    if (status_.ok()) status_ = Status(std::move(f));
  }

  // Where new nodes are inserted (invalid: at the end), and the location and tag they get.
  void insert_before(NodeId n) { before_ = n; }
  void set_loc(SourceLoc loc) { loc_ = loc; }
  void set_tag(CheckpointTag tag) { tag_ = tag; }
  // Names the results of the next call only.
  void name_next(std::vector<std::string> names) { names_ = std::move(names); }

  // Adds a call of any operator; missing trailing operands are none. Returns the results in order,
  // or an empty list after a failure.
  Values call(const std::string& op, std::vector<CallOperand> operands, NamedAttrs attrs = {});
  // The node's call with other attributes and other operands, one for each of the node's.
  Values copy(const Node& node, Values inputs, Attrs attrs);
  ValueId call1(const std::string& op, std::vector<CallOperand> operands, NamedAttrs attrs = {});

  // The operators that rules use most, under their ATen names.
  using V = ValueId;
  using O = CallOperand;
  V neg(V x) { return call1("neg", {x}); }
  V exp(V x) { return call1("exp", {x}); }
  V log(V x) { return call1("log", {x}); }
  V sqrt(V x) { return call1("sqrt", {x}); }
  V rsqrt(V x) { return call1("rsqrt", {x}); }
  V reciprocal(V x) { return call1("reciprocal", {x}); }
  V sin(V x) { return call1("sin", {x}); }
  V cos(V x) { return call1("cos", {x}); }
  V sinh(V x) { return call1("sinh", {x}); }
  V cosh(V x) { return call1("cosh", {x}); }
  V tanh(V x) { return call1("tanh", {x}); }
  V erf(V x) { return call1("erf", {x}); }
  V sigmoid(V x) { return call1("sigmoid", {x}); }
  V sign(V x) { return call1("sign", {x}); }
  V abs(V x) { return call1("abs", {x}); }
  V logical_not(V x) { return call1("logical_not", {x}); }
  V add(O x, O y) { return call1("add", {std::move(x), std::move(y)}); }
  V sub(O x, O y) { return call1("sub", {std::move(x), std::move(y)}); }
  V mul(O x, O y) { return call1("mul", {std::move(x), std::move(y)}); }
  V div(O x, O y) { return call1("div", {std::move(x), std::move(y)}); }
  V pow(O x, O y) { return call1("pow", {std::move(x), std::move(y)}); }
  V maximum(V x, V y) { return call1("maximum", {x, y}); }
  V minimum(V x, V y) { return call1("minimum", {x, y}); }
  V eq(V x, O y) { return call1("eq", {x, std::move(y)}); }
  V ne(V x, O y) { return call1("ne", {x, std::move(y)}); }
  V lt(V x, O y) { return call1("lt", {x, std::move(y)}); }
  V le(V x, O y) { return call1("le", {x, std::move(y)}); }
  V gt(V x, O y) { return call1("gt", {x, std::move(y)}); }
  V ge(V x, O y) { return call1("ge", {x, std::move(y)}); }
  V logical_and(V x, V y) { return call1("logical_and", {x, y}); }
  V logical_or(V x, V y) { return call1("logical_or", {x, y}); }
  V where(V c, O x, O y) { return call1("where", {c, std::move(x), std::move(y)}); }
  V sum(V x, const std::vector<int64_t>& dims, bool keepdim = false);
  V mean(V x, const std::vector<int64_t>& dims, bool keepdim = false);
  V amax(V x, const std::vector<int64_t>& dims, bool keepdim = false);
  V mm(V x, V y) { return call1("mm", {x, y}); }
  V bmm(V x, V y) { return call1("bmm", {x, y}); }
  V permute(V x, const std::vector<int64_t>& dims) {
    return call1("permute", {x}, {{"dims", dims}});
  }
  V view(V x, const Shape& size) { return call1("view", {x}, {{"size", size}}); }
  V expand(V x, const Shape& size) { return call1("expand", {x}, {{"size", size}}); }
  V unsqueeze(V x, int64_t dim) { return call1("unsqueeze", {x}, {{"dim", dim}}); }
  V squeeze(V x, const std::vector<int64_t>& dims) {
    return call1("squeeze", {x}, {{"dim", dims}});
  }
  V slice(V x, int64_t dim, Dim start, Dim end, int64_t step = 1);
  V cat(const Values& xs, int64_t dim) { return call1("cat", {O(xs)}, {{"dim", dim}}); }
  V convert(V x, DType t);  // returns x itself if it already has that dtype
  V full(const Shape& size, AttrValue value, DType t);
  V full_like(V x, AttrValue value) { return full(type(x).shape, std::move(value), type(x).dtype); }
  // Sums x over the dims in which `shape` is smaller, and views it as `shape`: the transpose of
  // broadcasting.
  V sum_to(V x, const Shape& shape);

 private:
  Values add(NodeSpec spec);

  Graph& graph_;
  const OpRegistry& ops_;
  Status status_;
  NodeId before_;
  SourceLoc loc_;
  CheckpointTag tag_;
  std::vector<std::string> names_;
};

}  // namespace cleave
