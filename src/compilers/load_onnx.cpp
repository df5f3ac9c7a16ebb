// Models from ONNX files, as values of the host program.
#include "cleave/onnx.h"
#include "compilers/traced_graph.h"
#include "import/onnx/import_onnx.h"
#include "ir/specialize.h"

namespace cleave {
namespace {

Result<OnnxModel> load(const std::string& path, const OnnxOptions& options) {
  const Operators ops;
  CLEAVE_TRY(onnx::ImportedModel m, onnx::import_onnx(path, ops.registry(), options));
  return OnnxModel{traced_graph(std::move(m.program.main), ops), std::move(m.weights),
                   std::move(m.inputs), m.opset, std::move(m.producer)};
}

HostTensor number(int64_t v) { return HostTensor::from<int64_t>({v}, {}); }

Result<HostTensors> operands_of(const OnnxModel& m, const HostTensors& inputs, int64_t seed) {
  const Graph& g = m.graph.state().graph;
  HostTensors out;
  std::vector<std::optional<std::vector<int64_t>>> shapes;
  size_t next = 0;
  for (const Placeholder& p : g.placeholders()) {
    const std::string& name = g.name(p.value);
    const Type& type = g.type(p.value);
    if (const auto weight = m.weights.find(name); weight != m.weights.end()) {
      out.push_back(weight->second);
    } else if (p.role == Role::symint) {
      out.push_back(number(0));
    } else if (p.role == Role::rng_state) {
      out.push_back(HostTensor::from<int64_t>({seed, 0}));
    } else if (next == inputs.size()) {
      return user_error("operands: {} inputs, and {} is one more", inputs.size(), name);
    } else {
      out.push_back(inputs[next++]);
      if (out.back().dtype() != type.dtype || out.back().rank() != type.rank())
        return user_error("operands: {} is {}, the graph has {}", name, out.back().type_text(),
                          type.text());
    }
    shapes.emplace_back();
    if (p.role != Role::symint) shapes.back() = out.back().shape();
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

HostTensors OnnxModel::operands(const HostTensors& inputs, int64_t seed) const {
  return value_or_throw(operands_of(*this, inputs, seed));
}

OnnxModel load_onnx(const std::string& path, const OnnxOptions& options) {
  return value_or_throw(load(path, options));
}

}  // namespace cleave
