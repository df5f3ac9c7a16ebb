// ONNX models, read and written in C++: no Python, no protobuf library.
//
//   OnnxModel m = load_onnx("model.onnx");
//   GraphCallable f = native()(m.graph, m.operands({x}));
//   HostTensor y = f(m.operands({x}))[0];
//
// Operator sets 7 to 27. Initializers of floats are params that ask for their gradients; scalars
// and integers are consts. Sizes that the file names ("batch") are symints of the graph. What
// decides on shapes must be known when the model is read: a shape that the model takes as an input
// is given in OnnxOptions::fixed. doc/from_onnx.md says what is covered, and shows training.
//
//   write_onnx("model.onnx", graph, {.weights = load_tensors("weights.safetensors")});
//
// Written are forward graphs, for inference.
//
// The file may be hostile: nothing in it is executed, memory is bounded by its size, external data
// are read from the model's folder alone.
#pragma once
#include <map>
#include <string>
#include <vector>

#include "cleave/traced_graph.h"
#include "cleave/weights.h"

namespace cleave {

struct OnnxOptions {
  // Inputs that are known now, by their names in the file: they become consts of the graph.
  NamedTensors fixed = {};
  // Shapes of inputs, in the place of those in the file.
  std::map<std::string, std::vector<int64_t>> shapes = {};
  // The number of tensors in inputs that are sequences or optionals; each is an input NAME.K.
  std::map<std::string, int64_t> lengths = {};
};

struct CLEAVE_API OnnxModel {
  // Inputs under their names in the file, with '_' for what a name of a graph can't hold. Results
  // are the model's outputs in order, those of a sequence one after the other; last the state of
  // random numbers, where some are drawn.
  TracedGraph graph;
  NamedTensors weights;                       // of the inputs that are param or const
  std::map<std::string, std::string> inputs;  // the others: the name in the file
  int64_t opset = 0;
  std::string producer;

  // One tensor for each input of the graph, in order: `inputs` are the user's, in the graph's
  // order; weights are the model's, symints come from the shapes, the state of random numbers from
  // `seed`. Tensors share no memory with the model. Errors (user): another number of inputs, other
  // dtypes or ranks, sizes that contradict each other.
  HostTensors operands(const HostTensors& inputs, int64_t seed = 0) const;
};

// Errors (user): a file that can't be read, is damaged or contradicts itself, with the byte or the
// node; (unsupported) operators and forms of them that aren't covered, all in one message with the
// number of their calls and the reason; operator sets beyond 7 to 27.
CLEAVE_API OnnxModel load_onnx(const std::string& path, const OnnxOptions& options = {});

struct OnnxWriteOptions {
  // By placeholder: they become initializers, the other placeholders inputs under their names.
  NamedTensors weights = {};
  int64_t opset = 21;  // 18 to 23
};

// Writes the graph as an ONNX model, which gives the graph's results in order, under their names.
// Symints are sizes with names ("batch"), told from the inputs' shapes. Where the file would be
// larger than 2 GiB, tensors lie beside it in PATH.data. Errors (user): a weight that no
// placeholder takes, or of another type; an operator set beyond 18 to 23; a file that can't be
// written. (unsupported): random numbers, updates, gradients and calls that ONNX has no operators
// for, all in one message with the number of their calls and the reason.
CLEAVE_API void write_onnx(const std::string& path, const TracedGraph& graph,
                           const OnnxWriteOptions& options = {});

}  // namespace cleave
