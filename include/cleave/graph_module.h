// A graph as a module: models of PyTorch and ONNX inside of training steps and functions.
//
//   GraphModule model = GraphModule::load("model.pt2");            // or .onnx, or .clv
//   TrainStep step = train_step(
//       model,
//       [&](const Tensor& x, const Tensor& label) { return cross_entropy(model(x), label); },
//       optim::AdamW({.lr = 3e-4}), {model.inputs()[0], {"label", DType::i64, {32}}});
//
// Its params and buffers are parameters and buffers of the module, under the names of the file, so
// that save_weights writes what load_state_dict reads; a param without `grad` is frozen. Each call
// records the graph anew, for the sizes that its inputs have. What the graph does in training or
// evaluation was decided when it was exported: train() and eval() change nothing. For evaluation
// load a second one that was exported after PyTorch's eval(), and copy_from() the first.
#pragma once
#include <initializer_list>
#include <map>
#include <string>
#include <vector>

#include "cleave/exported.h"
#include "cleave/function.h"
#include "cleave/input_spec.h"
#include "cleave/nn.h"
#include "cleave/onnx.h"

namespace cleave {

class CLEAVE_API GraphModule : public nn::Module {
 public:
  // A .pt2 of PyTorch, a .onnx, or a .clv with its weights beside it (NAME.safetensors). Errors:
  // those of load_exported, load_onnx, TracedGraph::parse and load_tensors, and the constructors'.
  static GraphModule load(const std::string& path);

  // Tied weights are one parameter under several names.
  explicit GraphModule(const ExportedModel& model);
  explicit GraphModule(const OnnxModel& model);
  // `weights` has the graph's params, buffers and consts, and may have more. Errors (user): one is
  // missing or of another type; its type has symints; the graph returns gradients.
  GraphModule(const TracedGraph& graph, const NamedTensors& weights);

  // Another graph over the same parameters and buffers: the same model exported for other sizes.
  // `consts` has its const inputs, and may have more. Errors (user): the graph has a param or
  // buffer that this one lacks, or of another type; those of the constructors.
  GraphModule with_graph(const TracedGraph& graph, const NamedTensors& consts = {}) const;

  // One Tensor for each of inputs(), in order. Returns the graph's results; its updates are
  // assigned (cleave/function.h): those of buffers after the run, once a run however often the
  // module is called, those of inputs where InputSpec::is_updated allows it. Random numbers are the
  // program's. Errors (user), at the line of the call: another number of inputs, other dtypes or
  // sizes than the graph's; it draws random numbers, and the program is none of train_step.
  Tensors operator()(const Tensors& inputs, Location at = Location::current()) const;
  Tensors operator()(std::initializer_list<Tensor> inputs,
                     Location at = Location::current()) const {
    return (*this)(Tensors(inputs), at);
  }
  // Of a graph with one result. Error (user): it has several.
  Tensor operator()(const Tensor& input, Location at = Location::current()) const;

  // What it takes. `sizes` are the values of the graph's symints: {{"s0", 32}}. Error (user): one
  // is missing, or out of its range.
  std::vector<InputSpec> inputs(const std::map<std::string, int64_t>& sizes = {}) const;
  const TracedGraph& graph() const { return graph_; }

 private:
  void add_state(const NamedTensors& weights, const std::map<std::string, std::string>& ties);
  void share_state(const std::map<std::string, Variable>& known, const NamedTensors& consts);
  Tensors recorded(const Tensors& inputs, Location at) const;

  TracedGraph graph_;
  // Of each placeholder: a Variable, or a const, or neither.
  std::vector<Variable> variables_;
  std::vector<Tensor> constants_;
};

}  // namespace cleave
