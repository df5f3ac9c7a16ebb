// Graphs as ONNX files, for the host program.
#include "cleave/onnx.h"
#include "compilers/traced_graph.h"
#include "export/onnx/export_onnx.h"
#include "export/onnx/write_model.h"

namespace cleave {
namespace {

Status write(const std::string& path, const TracedGraph& graph, const OnnxWriteOptions& options) {
  const TracedGraph::State& state = graph.state();
  CLEAVE_TRY(const to_onnx::ExportedModel m,
             to_onnx::export_onnx(state.graph, state.ops.registry(),
                                  {.weights = &options.weights, .opset = options.opset}));
  return to_onnx::write_model(path, m.model);
}

}  // namespace

void write_onnx(const std::string& path, const TracedGraph& graph,
                const OnnxWriteOptions& options) {
  value_or_throw(write(path, graph, options));
}

}  // namespace cleave
