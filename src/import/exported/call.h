// A node that is being read, as the rules of operators see it: arguments by name, types, and calls
// that stand for it.
//
// The first failure sticks, as in Builder: later calls give none, and types of none are f32[], so
// that rules are expressions. Arguments are the file's, so nothing about them is taken for granted.
#pragma once
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "import/exported/program.h"
#include "ir/builder.h"

namespace cleave::exported {

class Call {
 public:
  // What a call asks of the graph that it stands in.
  struct Context {
    std::function<Result<ValueId>(const std::string& name)> tensor;
    std::function<Result<AttrValue>(const std::string& name)> symbol;
    std::function<Result<ValueId>()> rng;
    std::function<int64_t()> stream;
    std::function<Status(const std::string& name, ValueId value)> write;
    // What the file says of a tensor; null: nothing.
    std::function<const TensorMeta*(const std::string& name)> meta;
    // The tensor of a number that item() gave; none: the symbol isn't one.
    std::function<ValueId(const std::string& symbol)> item;
  };
  Call(const Node& node, Builder& b, const Context& context)
      : node_(node), b_(b), context_(context) {}

  const Node& node() const { return node_; }
  Builder& builder() { return b_; }
  bool ok() const { return b_.status().ok(); }
  template <class... Args>
  ValueId fail(fmt::format_string<Args...> text, Args&&... args) {
    b_.fail({ErrorKind::unsupported, fmt::format(text, std::forward<Args>(args)...)});
    return ValueId::none();
  }

  // ---- arguments; `otherwise` where the file doesn't give them, or gives None
  const Argument* find(std::string_view name) const;
  bool has(std::string_view name) const;
  bool has_tensor(std::string_view name) const;
  ValueId tensor(std::string_view name);        // an error if it isn't given
  ValueId tensor(const Argument& a);            // an error if it is none
  ValueId maybe_tensor(std::string_view name);  // none if it isn't given
  Values tensors(std::string_view name);        // a list; its None are none
  AttrValue value(std::string_view name, AttrValue otherwise = {});
  AttrValue value(const Argument& a);
  int64_t integer(std::string_view name, int64_t otherwise);
  double floating(std::string_view name, double otherwise);
  bool flag(std::string_view name, bool otherwise);
  std::string text(std::string_view name, const std::string& otherwise);
  std::vector<int64_t> integers(std::string_view name, std::vector<int64_t> otherwise = {});
  Shape sizes(std::string_view name);
  std::optional<DType> dtype(std::string_view name);

  // Of the tensor that an argument is; null if it is none, or the file says nothing.
  const TensorMeta* meta(const Argument& a) const;
  bool is_complex(const Argument& a) const;
  bool is_complex(std::string_view name) const;
  const Context& context() const { return context_; }

  // From now on tensors of f16 and bf16 are given in f32: the rule is of elements or sums, which
  // ATen computes in f32 and rounds once. The reader rounds the results to the file's dtypes.
  void compute_in_f32() { in_f32_ = true; }
  bool computes_in_f32() const { return in_f32_; }

  // ---- types
  const Type& type(ValueId v) const;
  // From now on the type of a complex tensor's parts is shown as that of its real parts.
  void show_whole(ValueId parts);
  void show_parts() { shown_.clear(); }
  int64_t rank(ValueId v) const { return type(v).rank(); }
  // Of a dim from the front, or from the back where it is negative; 1 and an error if there is
  // none.
  Dim size(ValueId v, int64_t dim);
  int64_t static_size(ValueId v, int64_t dim);  // an error if it has symbols
  int64_t wrapped(int64_t dim, int64_t rank);   // into [0, rank)

  // ---- calls
  // An operator of cleave with the node's arguments by name. Errors (unsupported): an argument that
  // it doesn't have.
  Result<Values> direct(const OpDef& op);
  ValueId op(const std::string& name, std::vector<CallOperand> operands, NamedAttrs attrs = {});
  Values ops(const std::string& name, std::vector<CallOperand> operands, NamedAttrs attrs = {});
  ValueId to(ValueId x, DType t);
  ValueId view(ValueId x, Shape size);
  ValueId permute(ValueId x, std::vector<int64_t> dims);
  ValueId rng();
  int64_t stream() { return context_.stream(); }
  // Writes the memory of a tensor that is an argument.
  void write(std::string_view name, ValueId value);
  // The results may be views of the tensors among the arguments, or copies.
  void share_arguments() { is_sharing_ = true; }
  bool is_sharing() const { return is_sharing_; }

 private:
  ValueId tensor_named(const std::string& name);

  const Node& node_;
  Builder& b_;
  const Context& context_;
  std::map<uint32_t, Type> shown_;
  bool is_sharing_ = false;
  bool in_f32_ = false;
};

}  // namespace cleave::exported
