// Tensors that live from step to step: parameters, buffers, the optimizer's state, random numbers.
//
//   Variable w = model.parameter("0.weight");       // a handle: copies are the same tensor
//   w.bind(my_memory, Contents::of_variable);       // from now on it lives there
//   Store store = step.store();                     // name -> Variable, in order
//
// Training, evaluation and recompiled programs that name one Variable share its memory: a training
// step writes it in place, an evaluation reads what the step wrote. Nothing here is locked: one
// thread at a time writes a Variable, as a step does for those that it updates.
#pragma once
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "cleave/host_tensor.h"

namespace cleave {

namespace trace {
struct VariableState;
struct Access;
}  // namespace trace

// The role that a Variable's placeholder has in a graph; `state` is that of an optimizer.
enum class VariableKind : uint8_t { parameter, buffer, constant, state, random };

// Which bytes stay when a Variable moves to the caller's memory.
enum class Contents : uint8_t { of_variable, of_memory };

class CLEAVE_API Variable {
 public:
  Variable() = default;  // no tensor
  Variable(std::string name, HostTensor value, VariableKind kind = VariableKind::parameter);

  bool defined() const { return state_ != nullptr; }
  const std::string& name() const;  // as its module calls it: "weight"
  VariableKind kind() const;
  DType dtype() const;
  const std::vector<int64_t>& shape() const;
  const HostTensor& value() const;
  // Copies a tensor of the same dtype and shape into the memory.
  void set(const HostTensor& value);
  template <class T>
  T* data() {
    return memory().data<T>();
  }
  template <class T>
  const T* data() const {
    return value().data<T>();
  }

  // A parameter that is not trained is a constant of the training step: "frozen". Read when a
  // program is traced.
  bool requires_grad() const;
  void set_requires_grad(bool on);

  // Moves the tensor to memory of the same dtype and shape that the caller keeps as long as the
  // Variable lives. Programs follow in their next run. Error (user): another dtype or shape.
  void bind(HostTensor memory, Contents contents);

  // Whether both are the same tensor, not whether they hold the same numbers.
  friend bool operator==(const Variable& a, const Variable& b) { return a.state_ == b.state_; }

 private:
  friend struct trace::Access;
  HostTensor& memory();
  std::shared_ptr<trace::VariableState> state_;
};

// Named Variables in the order in which they came. A handle: copies are the same store. One
// Variable may have several names (tied weights); the first is the one under which it is saved.
class CLEAVE_API Store {
 public:
  Store();
  // Error (user): the name is that of another Variable.
  void add(const std::string& name, const Variable& variable);
  // Error (user): there is none; names the nearest.
  Variable at(const std::string& name) const;
  // Not defined() where there is none.
  Variable find(const std::string& name) const;
  // Lives as long as the store: not to be taken from a temporary.
  const std::vector<std::pair<std::string, Variable>>& entries() const&;
  const std::vector<std::pair<std::string, Variable>>& entries() const&& = delete;
  // Of each Variable once.
  int64_t bytes() const;
  // Whether both are one store.
  friend bool operator==(const Store& a, const Store& b) { return a.state_ == b.state_; }

 private:
  struct State;
  std::shared_ptr<State> state_;
};

}  // namespace cleave
