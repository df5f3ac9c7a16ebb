// Custom operators: the host program adds them to a copy of cleave's own and calls them by name.
//
//   Operators ops;
//   ops.add({.name = "scale_shift",
//            .signature = "(Tensor x, float scale=1.0) -> Tensor",
//            .infer = [](const OpCall& op) { return std::vector{op.operand(0)}; },
//            .reference = [](const OpCall& op, const HostTensors& in, HostTensors& out) { ... },
//            .grad = [](const OpGradCall& op) { return Tensors{op.cotangent(0) * 2.0}; },
//            .kernel = [](const OpCall& op) { return "for (long i = 0; ...) y[i] = ...;"; }});
//   Tensor y = call("scale_shift", {x}, {{"scale", 2.0}})[0];
//   train_step(model, loss, optimizer, inputs, {.compile = {.ops = ops}});
//
// The signature uses ATen's notation; Tensor and Tensor? arguments are operands, all others
// attributes. Rules may throw cleave::Error, which reaches the caller prefixed with the line of the
// call.
//
// An operator may change an operand where it lies: "(Tensor(a!) state, Tensor x) -> Tensor y", or
// with `-> ()` no other result. The call itself changes nothing: what the operand becomes is a
// result behind the others.
//
//   Tensors r = call("accumulate", {state, x});   // r[0] is y, r[1] the new state
//   assign(state, r[1]);                          // a Variable, if it shall be changed
//
// The code gets memory that begins as a copy of the operand, and is the operand's own where nothing
// else reads what it was: of a value of the program always, of a Variable that is assigned if the
// code is a `kernel`. A callback may fail half-way, which must leave Variables as
// they were.
#pragma once
#include <functional>

#include "cleave/function.h"

namespace cleave {

class OpRegistry;
class OpView;

// One call, as the rules of an operator see it.
class CLEAVE_API OpCall {
 public:
  explicit OpCall(const OpView& view) : view_(&view) {}
  int operand_count() const;
  bool has(int operand) const;  // false: the operand is not given
  TensorType operand(int k) const;
  TensorType result(int k) const;  // not available in infer
  // Attributes as given, or else the signature's default.
  bool bool_attr(const std::string& name) const;
  int64_t int_attr(const std::string& name) const;
  double float_attr(const std::string& name) const;
  std::string string_attr(const std::string& name) const;
  std::vector<int64_t> ints_attr(const std::string& name) const;
  // Throws "name: rule: text", a UserError: op.refuse("C1", "x has no dims").
  [[noreturn]] void refuse(const std::string& rule, const std::string& text) const;

 private:
  const OpView* view_;
};

// What a gradient rule sees: the call's operands and results, and the gradients of its results.
// Error (user): there is none of this number.
class CLEAVE_API OpGradCall : public OpCall {
 public:
  OpGradCall(const OpView& view, Tensors operands, Tensors results, Tensors cotangents)
      : OpCall(view), operands_(std::move(operands)), results_(std::move(results)),
        cotangents_(std::move(cotangents)) {}
  const Tensor& operand_value(int k) const { return of("operand", operands_, k); }
  const Tensor& result_value(int k) const { return of("result", results_, k); }
  // Empty: no gradient flows.
  const Tensor& cotangent(int k) const { return of("cotangent", cotangents_, k); }

 private:
  static const Tensor& of(const char* what, const Tensors& tensors, int k);
  Tensors operands_, results_, cotangents_;
};

// The memory that a callback reads and writes, row-major.
class CLEAVE_API OpMemory {
 public:
  struct Types {
    std::vector<TensorType> operands, results;
  };
  OpMemory(const Types& types, void* const* operands, void* const* results)
      : types_(types), operands_(operands), results_(results) {}
  const TensorType& operand_type(int k) const { return of("operand", types_.operands, k); }
  const TensorType& result_type(int k) const { return of("result", types_.results, k); }
  // Elements as T. Errors (user): there is no such operand or result, or its dtype isn't T's
  // (holds() in host_tensor.h).
  template <class T>
  std::span<const T> operand(int k) const {
    const size_t n = count<T>("operand", k, operand_type(k));  // first: k may be none
    return {static_cast<const T*>(operands_[k]), n};
  }
  template <class T>
  std::span<T> result(int k) const {
    const size_t n = count<T>("result", k, result_type(k));  // first: k may be none
    return {static_cast<T*>(results_[k]), n};
  }

 private:
  static const TensorType& of(const char* what, const std::vector<TensorType>& types, int k);
  [[noreturn]] static void refuse_type(const char* what, int k, DType given, DType asked);
  template <class T>
  static size_t count(const char* what, int k, const TensorType& type) {
    if (!holds<T>(type.dtype)) refuse_type(what, k, type.dtype, dtype_of<T>());
    return static_cast<size_t>(type.numel());
  }
  const Types& types_;
  void* const* operands_;
  void* const* results_;
};

struct Operator {
  std::string name;  // letters, digits and _, and no digit first
  std::string signature;
  std::string summary = {};
  // Anything that you change whenever the operator computes something else: a cache
  // (CompileOptions::cache_dir) keeps programs that call it under this text, or, where it is empty,
  // doesn't keep them.
  std::string version = {};
  // The types of the results, but for those of operands that are changed.
  std::function<std::vector<TensorType>(const OpCall&)> infer;
  // The reference implementation, in plain loops: floating operands and results are f64, all others
  // i64; results are passed in as zeros, those of changed operands, which are the last, as the
  // operands. Operands that aren't given are empty.
  std::function<void(const OpCall&, const HostTensors& operands, HostTensors& results)> reference;
  // The gradient of each operand, built with functions of Tensors; an empty Tensor if none flows.
  // If unset, the operator can't be trained through.
  std::function<Tensors(const OpGradCall&)> grad = {};
  // Exactly one of two ways to run must be set. `kernel` returns the body of a C function, without
  // #include, in which every operand and result is a pointer to its first element (row-major, f32
  // as float, i64 as long, bool as unsigned char, bf16 and f16 as unsigned short), named as in the
  // signature; results without a name are result0, result1, ... Of an operand or result x,
  // x_size[d] is its size along dim d, a long: where sizes vary (dyn()), a text that reads them
  // there and holds none as numbers is compiled once for all. What is changed is no pointer to
  // const, and has the operand's name. `callback` returns, for one call,
  // the host program's function that each run calls, on the thread that runs; it must not throw.
  // It changes an operand as the result that the operand becomes: m.result<float>(1) above.
  std::function<std::string(const OpCall&)> kernel = {};
  std::function<std::function<void(const OpMemory&)>(const OpCall&)> callback = {};
};

// cleave's operators and those that were added. A value: programs keep the copy they were given.
class CLEAVE_API Operators {
 public:
  Operators();
  // Errors (user): the name is taken or has other characters, the signature doesn't parse or gives
  // one name twice, a rule is missing.
  void add(const Operator& op);
  std::vector<std::string> names() const;
  const OpRegistry& registry() const;

 private:
  std::shared_ptr<const OpRegistry> registry_;
};

}  // namespace cleave
