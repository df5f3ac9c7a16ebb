// An ONNX model as a graph and its weights.
//
//   CLEAVE_TRY(ImportedModel m, import_onnx("model.onnx", ops));
//   m.program    the graph; m.weights   tensors by placeholder
//
// Placeholders: a symint for each dim_param ("batch"), before what has it; inputs under their names
// in the file, with '_' for what a name can't hold; initializers of floats are params that ask for
// their gradient, scalars and integers consts. Results: the model's outputs in order, the items of
// a sequence one after the other; where random numbers are drawn, the next state at last.
//
// What only the compiler needs to know, such as the shape that Reshape takes, is computed at
// import; where it depends on an input, the input must be given (OnnxOptions::fixed).
//
// Source: onnx.proto and Operators.md of ONNX 1.22, operator sets 7 to 27.
#pragma once
#include <map>
#include <set>
#include <string>
#include <vector>

#include "cleave/host_tensor.h"
#include "cleave/onnx.h"
#include "ir/graph.h"

namespace cleave::onnx {

constexpr int64_t first_opset = 7;
constexpr int64_t last_opset = 27;

// Why calls aren't covered, with how many: "NonMaxSuppression: ..." -> 2.
using Refusals = std::map<std::string, int64_t>;

struct ImportedModel {
  Program program;
  std::map<std::string, HostTensor> weights;
  std::map<std::string, std::string> inputs;  // by placeholder, the name in the file
  std::string producer;
  int64_t opset = 0;
};

struct ImportReport {
  Refusals refused;
  std::set<std::string> wanted;  // inputs that have to be fixed first
};

// Errors (user): a file that is damaged or contradicts itself; (unsupported) what isn't covered,
// all of it in one message, and in `report`. The largest file is 2 GiB, as protocol buffers have
// it.
Result<ImportedModel> import_onnx(const std::string& path, const OpRegistry& ops,
                                  const OnnxOptions& options = {}, ImportReport* report = nullptr);
// The same of bytes in memory. External data are read from the folder; an empty one has none.
struct ModelBytes {
  std::span<const std::byte> bytes;
  std::string name = "model", folder = {};
};
Result<ImportedModel> import_onnx(const ModelBytes& model, const OpRegistry& ops,
                                  const OnnxOptions& options = {}, ImportReport* report = nullptr);

}  // namespace cleave::onnx
