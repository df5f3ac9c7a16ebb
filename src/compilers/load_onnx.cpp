// Models from ONNX files, as values of the host program.
#include "cleave/onnx.h"
#include "compilers/model_operands.h"
#include "compilers/traced_graph.h"
#include "import/onnx/import_onnx.h"

namespace cleave {
namespace {

Result<OnnxModel> load(const std::string& path, const OnnxOptions& options) {
  const Operators ops;
  CLEAVE_TRY(onnx::ImportedModel m, onnx::import_onnx(path, ops.registry(), options));
  return OnnxModel{traced_graph(std::move(m.program.main), ops), std::move(m.weights),
                   std::move(m.inputs), m.opset, std::move(m.producer)};
}

}  // namespace

HostTensors OnnxModel::operands(const HostTensors& inputs, int64_t seed) const {
  return value_or_throw(model_operands(graph.state().graph, weights, inputs, seed));
}

OnnxModel load_onnx(const std::string& path, const OnnxOptions& options) {
  return value_or_throw(load(path, options));
}

}  // namespace cleave
