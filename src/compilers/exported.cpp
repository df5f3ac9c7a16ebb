// Models from .pt2 files, as values of the host program.
#include "cleave/exported.h"

#include "compilers/model_operands.h"
#include "compilers/traced_graph.h"
#include "import/exported/model.h"

namespace cleave {
namespace {

Result<ExportedModel> load(const std::string& path) {
  const Operators ops;
  CLEAVE_TRY(const ZipArchive zip, ZipArchive::open(path));
  CLEAVE_TRY(ImportedModel m, import_exported(zip, ops.registry(), {.updates = UpdateOrder::last}));
  return ExportedModel{traced_graph(std::move(m.program.main), ops),
                       std::move(m.weights),
                       std::move(m.ties),
                       std::move(m.arguments),
                       std::move(m.results),
                       std::move(m.torch_version)};
}

}  // namespace

HostTensors ExportedModel::operands(const HostTensors& inputs, int64_t seed) const {
  return value_or_throw(model_operands(graph.state().graph, weights, inputs, seed));
}

ExportedModel load_exported(const std::string& path) { return value_or_throw(load(path)); }

}  // namespace cleave
