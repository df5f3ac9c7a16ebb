// What a rule sees of a call: operand types by position, attributes by name.
//
// Operand positions count the signature's tensor arguments: in `where(Tensor condition, Tensor
// self, Tensor other)` self is 1. The items of the list operand are accessed through list_*.
#pragma once
#include <span>
#include <string>
#include <vector>

#include "ir/attrs.h"
#include "ir/op_def.h"

namespace cleave {

class OpView {
 public:
  // `inputs` has one id per operand, with list items expanded in place; `types` has one pointer for
  // each id, null if the id is none or number; `out_types` is empty until the results are known.
  OpView(const OpDef& def, std::vector<ValueId> inputs, std::vector<const Type*> types,
         uint32_t list_size, const Attrs& attrs, const SymEnv& env,
         std::vector<const Type*> out_types = {});

  const OpDef& def() const { return *def_; }
  const std::string& name() const { return def_->name; }
  const SymEnv& env() const { return *env_; }

  // Operands.
  int operand_count() const { return static_cast<int>(def_->schema.operands.size()); }
  bool has(int operand) const { return inputs_[flat(operand)].valid(); }
  bool is_number(int operand) const { return inputs_[flat(operand)].is_number(); }
  ValueId in(int operand) const { return inputs_[flat(operand)]; }
  const Type& in_type(int operand) const { return *types_[flat(operand)]; }
  // The number given for an operand; callers check is_number() first.
  const AttrValue& number(int operand) const;
  int list_size() const { return static_cast<int>(list_size_); }
  ValueId list_in(int k) const { return inputs_[list_begin() + k]; }
  bool list_has(int k) const { return inputs_[list_begin() + k].valid(); }
  const Type& list_type(int k) const { return *types_[list_begin() + k]; }
  // The index into `inputs` of an operand (for the list: of its first item).
  int flat(int operand) const;
  const std::vector<ValueId>& inputs() const { return inputs_; }
  const std::vector<const Type*>& types() const { return types_; }

  // Results, known once the node exists (decompose, grad, reference, lower, cost).
  const Type& out_type(int k) const { return *out_types_[k]; }
  int out_count() const { return static_cast<int>(out_types_.size()); }

  // Attributes as given, else the schema's default. Kinds were checked when the node was made.
  const Attrs& attrs() const { return *attrs_; }
  const AttrValue& attr(std::string_view name) const;
  bool given(std::string_view name) const;  // given and not none
  int64_t int_attr(std::string_view name) const;
  Dim dim_attr(std::string_view name) const;
  bool bool_attr(std::string_view name) const;
  double float_attr(std::string_view name) const;  // any number
  const std::string& str_attr(std::string_view name) const;
  std::vector<int64_t> ints_attr(std::string_view name) const;  // none is empty
  std::vector<Dim> dims_attr(std::string_view name) const;
  std::optional<DType> dtype_attr(std::string_view name) const;
  GraphRef graph_attr(std::string_view name) const;

  // "name: C1: text".
  template <class... Args>
  Failure broken(std::string_view rule, fmt::format_string<Args...> text, Args&&... args) const {
    return {ErrorKind::user, fmt::format("{}: {}: {}", name(), rule,
                                         fmt::format(text, std::forward<Args>(args)...))};
  }

 private:
  int list_begin() const { return flat(def_->schema.list_operand); }

  const OpDef* def_;
  std::vector<ValueId> inputs_;
  std::vector<const Type*> types_;
  uint32_t list_size_;
  const Attrs* attrs_;
  const SymEnv* env_;
  std::vector<const Type*> out_types_;
};

// Runs a subgraph on concrete arrays, one for each placeholder that isn't a symint.
using RunGraph = Result<Arrays> (*)(const Graph&, std::span<const Array* const>);

// What a reference rule sees: the call, and the oracle's function for running a subgraph.
class RunView : public OpView {
 public:
  explicit RunView(OpView call, RunGraph run = nullptr);
  Result<Arrays> run(const Graph& g, std::span<const Array* const> operands) const;

 private:
  RunGraph run_;
};

class GraphMemo;

// Appends to g the partial derivatives of `outputs` by `wrt`, one each (none: no path to it): where
// one of `wrt` is computed from another, the first one's derivative doesn't go on to the other.
using Differentiate = Result<Values> (*)(Graph& g, const OpRegistry& ops, const Values& outputs,
                                         const Values& cotangents, const Values& wrt,
                                         GraphMemo& memo);

// What a gradient rule sees: the call, its results, and the cotangents that reached them.
class GradView : public OpView {
 public:
  GradView(OpView call, Values outs, Values douts, std::vector<bool> needs);

  ValueId out(int k) const { return outs_[k]; }
  // none if no cotangent reached result k.
  ValueId dout(int k) const { return douts_[k]; }
  // Whether the gradient of this operand is needed.
  bool needs(int operand) const { return needs_[flat(operand)]; }
  bool needs_flat(size_t input) const { return needs_[input]; }  // by position in inputs()
  bool list_needs(int k) const { return needs_[flat(def().schema.list_operand) + k]; }
  // A list of none, one for each operand with list items expanded.
  Values no_grads() const;

  // For operators with subgraphs: the gradient sweep's function for differentiating one, and its
  // cache of derived subgraphs (bug: the rule was called without a sweep).
  void set_differentiate(Differentiate f, GraphMemo& memo) { differentiate_ = f, memo_ = &memo; }
  Result<Values> differentiate(Graph& g, const OpRegistry& ops, const Values& outputs,
                               const Values& cotangents, const Values& wrt) const;
  Result<GraphMemo*> memo() const;

 private:
  Values outs_, douts_;
  std::vector<bool> needs_;
  Differentiate differentiate_ = nullptr;
  GraphMemo* memo_ = nullptr;
};

}  // namespace cleave
