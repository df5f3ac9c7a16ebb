// Models from .pt2 files, as values of the host program.
#include "cleave/exported.h"

#include "compilers/traced_graph.h"
#include "import/exported/model.h"
#include "ir/specialize.h"

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

HostTensor number(int64_t v) {
  HostTensor t(DType::i64, {});
  *t.data<int64_t>() = v;
  return t;
}

Result<HostTensors> operands_of(const ExportedModel& m, const HostTensors& inputs, int64_t seed) {
  const Graph& g = m.graph.state().graph;
  HostTensors out;
  std::vector<std::optional<std::vector<int64_t>>> shapes;
  size_t next = 0;
  for (const Placeholder& p : g.placeholders()) {
    const std::string& name = g.name(p.value);
    HostTensor t;
    if (const auto weight = m.weights.find(name); weight != m.weights.end()) {
      t = weight->second;
    } else if (p.role == Role::symint) {
      t = number(0);
    } else if (p.role == Role::rng_state) {
      t = HostTensor::from<int64_t>({seed, 0});
    } else {
      if (next == inputs.size())
        return user_error("operands: {} inputs, and {} is one more", inputs.size(), name);
      t = inputs[next++];
      if (t.dtype() != g.type(p.value).dtype || t.rank() != g.type(p.value).rank())
        return user_error("operands: {} is {}, the graph has {}", name, t.type_text(),
                          g.type(p.value).text());
    }
    shapes.emplace_back();
    if (p.role != Role::symint) shapes.back() = t.shape();
    out.push_back(std::move(t));
  }
  if (next < inputs.size())
    return user_error("operands: {} inputs, the model has {}", inputs.size(), next);
  CLEAVE_TRY(const SymbolValues symbols, bind_symbols(g, shapes));
  for (size_t k = 0; k < out.size(); ++k)
    if (g.placeholders()[k].role == Role::symint)
      out[k] = number(symbols.at(g.name(g.placeholders()[k].value)));
  return out;
}

}  // namespace

HostTensors ExportedModel::operands(const HostTensors& inputs, int64_t seed) const {
  return value_or_throw(operands_of(*this, inputs, seed));
}

ExportedModel load_exported(const std::string& path) { return value_or_throw(load(path)); }

}  // namespace cleave
