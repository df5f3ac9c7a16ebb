// Forward and backward as two programs, each compiled by a GraphCompiler of your choice.
//
//   AotFunction f = aot_function(
//       [](const Tensor& x, const Tensor& w) { return tanh(matmul(x, w)); },
//       {{"x", DType::f32, {4, 3}}, {"w", DType::f32, {3, 2}}},
//       {.wants_grad = {"w"}, .forward = native(), .partition = Partitioner::pytorch()});
//   HostTensors y = f.forward({x, w});
//   HostTensors dw = f.backward({dy}).inputs;       // of `w`
//
// The function is traced for training when this is called, differentiated and cut; the halves are
// compiled when they first run. The forward keeps what the backward reads until that runs. What a
// training loop needs around it is train_step's (cleave/train.h), which is one program and faster.
// Source: aot_function, aot_module and memory_efficient_fusion of PyTorch's functorch.
#pragma once
#include <initializer_list>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "cleave/compiler.h"
#include "cleave/decompositions.h"
#include "cleave/partitioner.h"
#include "cleave/train.h"

namespace cleave {

struct AotOptions {
  // The inputs whose gradients backward() returns. Errors (user): no input has the name, it is
  // named twice, or it is not floating.
  std::vector<std::string> wants_grad = {};
  GraphCompiler forward = native();
  GraphCompiler backward = {};   // empty: as the forward
  GraphCompiler inference = {};  // where nothing wants a gradient; empty: as the forward
  Partitioner partition = Partitioner::standard();
  // Of the function and its gradient: after this was taken by the operators' own rules.
  Decompositions decompositions = {};
  Operators ops = {};
  uint64_t seed = 0;        // of the function's random numbers
  int64_t kept_sizes = 32;  // of inputs whose sizes vary: how many pairs of halves are kept
};

struct AotGradients {
  HostTensors inputs;  // of AotOptions::wants_grad, in its order
  std::vector<std::pair<std::string, HostTensor>> parameters = {};  // of a module's, by name
};

// A handle: copies are the same function.
class CLEAVE_API AotFunction {
 public:
  AotFunction() = default;
  // The results of the function. Writes the buffers that it assigns, and inputs that its specs let
  // it update, once the forward has run. Errors (user): those of CompiledFunction::run; what the
  // compiler throws.
  HostTensors forward(std::span<const InputRef> inputs);
  HostTensors forward(std::initializer_list<InputRef> inputs) {
    return forward(std::span<const InputRef>(inputs.begin(), inputs.size()));
  }
  // One cotangent for each floating result, in order, of its type; none at all: 1 for a lone result
  // of one element. What the last forward kept is gone after this. Errors (user): there was no
  // forward since, nothing wants a gradient, another number or type of cotangents, a parameter was
  // written after the forward.
  AotGradients backward(std::span<const InputRef> cotangents);
  AotGradients backward(std::initializer_list<InputRef> cotangents = {}) {
    return backward(std::span<const InputRef>(cotangents.begin(), cotangents.size()));
  }

  // Of the sizes that ran last, at first the largest. Without a gradient, joint_graph() and
  // forward_graph() are the function's, and backward_graph() is an error (user).
  TracedGraph joint_graph() const;
  TracedGraph forward_graph() const;
  TracedGraph backward_graph() const;

  struct State;
  explicit AotFunction(std::shared_ptr<State> state) : state_(std::move(state)) {}

 private:
  State& state() const;
  std::shared_ptr<State> state_;
};

CLEAVE_API AotFunction aot_function(const TracedFunction& function,
                                    const std::vector<InputSpec>& inputs,
                                    const AotOptions& options = {},
                                    Location at = Location::current());
// Of a graph: its inputs are those of its placeholders that are no symints, in order; `grad` stands
// behind those that want a gradient. Its halves hold for all sizes. Errors (user): a joint graph,
// a result behind an update; of a run, a const tensor for what is updated.
CLEAVE_API AotFunction aot_function(const TracedGraph& graph, const AotOptions& options = {},
                                    Location at = Location::current());
// The parameters of the module that require a gradient get one as well.
CLEAVE_API AotFunction aot_module(const nn::Module& model, const TracedFunction& function,
                                  const std::vector<InputSpec>& inputs,
                                  const AotOptions& options = {},
                                  Location at = Location::current());

// Options by which few bytes are kept and each half is fused: script for both, PyTorch's min-cut,
// Decompositions::defaults(). Change what you like of them.
CLEAVE_API AotOptions memory_efficient_fusion();
// simple_script for both. Source: nnc_jit.
CLEAVE_API AotOptions nnc_jit();

}  // namespace cleave
