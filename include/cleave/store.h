// Tensors that persist between steps: parameters, buffers, optimizer state, random number state.
//
//   Variable w = model.parameter("0.weight");       // a handle: copies are the same tensor
//   w.bind(my_memory, Contents::of_variable);       // moves the tensor to this memory
//   Store store = step.store();                     // name -> Variable, in order
//
// Training, evaluation and recompiled programs that use the same Variable share its memory: a
// training step writes it in place, an evaluation reads what the step wrote. There are no locks:
// only one thread at a time may write a Variable; a step writes those that it updates.
//
// With programs on a device (cleave/device.h) the tensor lies there, too. value() and data() copy
// back what a run has written; what the host writes by set(), data() or a checkpoint goes there
// with the next run. A pointer kept from data() has the values of the time when it was asked for,
// and what is written through it after the next run isn't seen: ask for it again.
#pragma once
#include <memory>
#include <source_location>
#include <string>
#include <utility>
#include <vector>

#include "cleave/device_tensor.h"

namespace cleave {

namespace trace {
struct VariableState;
struct Access;
}  // namespace trace

// The role of a Variable's placeholder in a graph; `state` is optimizer state.
enum class VariableKind : uint8_t { parameter, buffer, constant, state, random };

// Which bytes are kept when a Variable moves to the caller's memory.
enum class Contents : uint8_t { of_variable, of_memory };

class CLEAVE_API Variable {
 public:
  Variable() = default;  // undefined: asking it for anything but that is an error (user)
  // Its memory is row-major: a value that isn't is copied.
  Variable(std::string name, HostTensor value, VariableKind kind = VariableKind::parameter);
  Variable(const Variable& other) noexcept;  // while a module is cloned, the clone's (nn::clone)
  Variable& operator=(const Variable&) = default;
  Variable(Variable&&) noexcept = default;
  Variable& operator=(Variable&&) noexcept = default;

  bool defined() const { return state_ != nullptr; }
  const std::string& name() const;  // its name in its module: "weight"
  VariableKind kind() const;
  DType dtype() const;
  const std::vector<int64_t>& shape() const;
  // While a function is traced, what is read here or by data() becomes a constant of the program;
  // an operand (`w * x`) is read by each run. A trace that reads one says so: Report::warnings.
  const HostTensor& value(std::source_location at = std::source_location::current()) const;
  // Copies the elements of a tensor of the same dtype and shape, and any strides.
  void set(const HostTensor& value);
  template <class T>
  T* data(std::source_location at = std::source_location::current()) {
    return memory(at).data<T>();
  }
  template <class T>
  const T* data(std::source_location at = std::source_location::current()) const {
    return value(at).data<T>();
  }

  // A parameter that doesn't require a gradient is a constant of the training step ("frozen"). Read
  // when a program is traced.
  bool requires_grad() const;
  void set_requires_grad(bool on);

  // Moves the tensor to memory of the same dtype and shape that the caller keeps alive as long as
  // the Variable. Programs use it from their next run on (Report::rebinds). Errors (user): another
  // dtype or shape, strides that aren't row-major, an address that doesn't suit the elements.
  void bind(HostTensor memory, Contents contents);
  // The same with memory of the host or a device, which is kept as long as the Variable is there.
  // On a device the Variable moves with the next run of a program there; until then only what the
  // host had can be read, with Contents::of_memory nothing. Errors (user): as above; it is const;
  // on a device an address that is no multiple of 16 bytes; then from a run on another device.
  void bind(const DeviceTensor& memory, Contents contents);
  // Its memory on the device of the programs that use it, or the host's, whichever was written
  // last; for reading, until the next run that updates it. Waits for the runs before.
  DeviceTensor there() const;

  // Whether both are the same tensor, not whether their elements are equal.
  friend bool operator==(const Variable& a, const Variable& b) { return a.state_ == b.state_; }

 private:
  friend struct trace::Access;
  trace::VariableState& state() const;
  HostTensor& memory(std::source_location at);
  std::shared_ptr<trace::VariableState> state_;
};

// Named Variables in insertion order. A handle: copies are the same store. One Variable may have
// several names (tied weights); it is saved under the first.
class CLEAVE_API Store {
 public:
  Store();
  // A store that was moved from is still the same one.
  Store(const Store&) = default;
  Store& operator=(const Store&) = default;
  // Error (user): another Variable has this name.
  void add(const std::string& name, const Variable& variable);
  // Error (user): no such name; the message suggests the nearest one.
  Variable at(const std::string& name) const;
  // Returns an undefined Variable if there is none.
  Variable find(const std::string& name) const;
  // The reference is valid as long as the store, so it can't be taken from a temporary.
  const std::vector<std::pair<std::string, Variable>>& entries() const&;
  const std::vector<std::pair<std::string, Variable>>& entries() const&& = delete;
  // Counts each Variable once.
  int64_t bytes() const;
  // Whether both are the same store.
  friend bool operator==(const Store& a, const Store& b) { return a.state_ == b.state_; }

 private:
  struct State;
  std::shared_ptr<State> state_;
};

}  // namespace cleave
