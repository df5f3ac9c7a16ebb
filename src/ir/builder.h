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
  CallOperand(ValueId v);
  CallOperand(std::vector<ValueId> l);
  CallOperand(double v);
  CallOperand(int v);
  CallOperand(bool v);
  CallOperand(AttrValue v);
  CallOperand(const CallOperand& from);
  CallOperand(CallOperand&& from) noexcept;
  CallOperand& operator=(const CallOperand& from);
  CallOperand& operator=(CallOperand&& from) noexcept;
  ~CallOperand();
};

using NamedAttrs = std::vector<std::pair<std::string, AttrValue>>;

class Builder {
 public:
  Builder(Graph& graph, const OpRegistry& ops);
  ~Builder();

  Graph& graph() { return graph_; }
  const OpRegistry& ops() const { return ops_; }
  const Type& type(ValueId v) const { return graph_.type(v); }
  const Status& status() const { return status_; }
  void fail(Failure f);

  // Where new nodes are inserted (invalid: at the end), and the source location and tag they get.
  void insert_before(NodeId n) { before_ = n; }
  NodeId position() const { return before_; }
  void set_loc(SourceLoc loc) { loc_ = loc; }
  void set_tag(CheckpointTag tag) { tag_ = tag; }
  // Names the results of the next call only.
  void name_next(std::vector<std::string> names);

  // Adds a call of any operator; missing trailing operands are none. Returns the results in order,
  // or an empty list after a failure.
  Values call(const std::string& op, std::vector<CallOperand> operands, NamedAttrs attrs = {});
  // The node's call with other attributes and other operands, one for each of the node's.
  Values copy(const Node& node, Values inputs, Attrs attrs);
  ValueId call1(const std::string& op, std::vector<CallOperand> operands, NamedAttrs attrs = {});

  // The operators that rules use most, under their ATen names.
  using V = ValueId;
  using O = CallOperand;
  V neg(V x);
  V exp(V x);
  V log(V x);
  V sqrt(V x);
  V rsqrt(V x);
  V reciprocal(V x);
  V sin(V x);
  V cos(V x);
  V sinh(V x);
  V cosh(V x);
  V tanh(V x);
  V erf(V x);
  V sigmoid(V x);
  V sign(V x);
  V abs(V x);
  V logical_not(V x);
  V add(O x, O y);
  V sub(O x, O y);
  V mul(O x, O y);
  V div(O x, O y);
  V pow(O x, O y);
  V maximum(V x, V y);
  V minimum(V x, V y);
  V eq(V x, O y);
  V ne(V x, O y);
  V lt(V x, O y);
  V le(V x, O y);
  V gt(V x, O y);
  V ge(V x, O y);
  V logical_and(V x, V y);
  V logical_or(V x, V y);
  V where(V c, O x, O y);
  V sum(V x, const std::vector<int64_t>& dims, bool keepdim = false);
  V mean(V x, const std::vector<int64_t>& dims, bool keepdim = false);
  V amax(V x, const std::vector<int64_t>& dims, bool keepdim = false);
  V mm(V x, V y);
  V bmm(V x, V y);
  V permute(V x, const std::vector<int64_t>& dims);
  V view(V x, const Shape& size);
  V expand(V x, const Shape& size);
  V unsqueeze(V x, int64_t dim);
  V squeeze(V x, const std::vector<int64_t>& dims);
  V slice(V x, int64_t dim, Dim start, Dim end, int64_t step = 1);
  V cat(const Values& xs, int64_t dim);
  V convert(V x, DType t);       // returns x itself if it already has that dtype
  V move(V x, const Device& d);  // returns x itself if it already is there
  V full(const Shape& size, AttrValue value, DType t);
  V full_like(V x, AttrValue value);
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
