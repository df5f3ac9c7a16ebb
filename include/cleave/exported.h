// Models of PyTorch from .pt2 files, which torch.export.save writes. No Python and no libtorch.
//
//   ExportedModel model = load_exported("model.pt2");
//   GraphCallable run = native()(model.graph, model.operands({x}));
//   HostTensor y = run(model.operands({x}))[0];
//
// Read are archives of PyTorch 2.6 to 2.13 (schema 8), stored or deflated, programs as
// torch.export.export leaves them and as run_decompositions() does. The file may be hostile:
// nothing in it is executed, memory is bounded by its size. doc/from_pytorch.md says what is
// covered.
#pragma once
#include <map>
#include <string>

#include "cleave/traced_graph.h"
#include "cleave/weights.h"

namespace cleave {

struct CLEAVE_API ExportedModel {
  // Parameters, buffers and constants are inputs under their names in the model
  // ("layers.0.weight"), user inputs under those of forward's arguments ("x", "d_a" of d["a"]).
  // Parameters that ask for gradients bear `grad`. `return` has forward's tensors, then updates:
  // what forward writes in place, in the order of the inputs, and the state of random numbers,
  // where some are drawn. (The command has the updates first, as run_decompositions().)
  TracedGraph graph;
  NamedTensors weights;                     // of the inputs that are param, buffer or const
  std::map<std::string, std::string> ties;  // other names in the model: the input they stand for
  // Trees of arguments and results, with the inputs' names and numbers of `return`:
  // "((x, {\"a\": d_a}), {})" and "(out.0, None)".
  std::string arguments, results;
  std::string torch_version;

  // One tensor for each input of the graph, in order: `inputs` are the user's, in the graph's
  // order; weights are the model's, symints come from the shapes, the random state from `seed`.
  // Tensors share no memory with the model. Errors (user): another number of inputs, other dtypes
  // or ranks, sizes that contradict each other or are out of their ranges.
  HostTensors operands(const HostTensors& inputs, int64_t seed = 0) const;
};

// Errors (user): a file that is none, or damaged, or contradicts itself: with the path, the part
// and the rule; (unsupported) operators that aren't covered, all in one message with their calls;
// dtypes, custom objects, pickles of anything but tensors, another version of the schema.
CLEAVE_API ExportedModel load_exported(const std::string& path);

}  // namespace cleave
