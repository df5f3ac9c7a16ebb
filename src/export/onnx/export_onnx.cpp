#include "export/onnx/export_onnx.h"

#include <algorithm>

#include "ir/edit.h"

namespace cleave::to_onnx {
namespace {

int64_t ir_version_of(int64_t opset) {
  if (opset >= 23) return 11;
  if (opset >= 21) return 10;
  return opset >= 19 ? 9 : 8;
}

Status check_weight(const std::string& name, const HostTensor& t, const Type& want) {
  bool fits = t.dtype() == want.dtype && t.rank() == want.rank();
  for (size_t d = 0; fits && d < want.shape.size(); ++d)
    fits = !want.shape[d].is_const() || want.shape[d].value() == t.shape()[d];
  if (fits) return {};
  return user_error("the weight {} is {}, expected {}", name, t.type_text(), want.text());
}

Status check_weights(const Graph& g, const std::map<std::string, HostTensor>& weights) {
  for (const auto& [name, t] : weights) {
    const ValueId v = g.find(name);
    const Placeholder* p = v.valid() ? g.placeholder_of(v) : nullptr;
    if (!p || p->role == Role::symint)
      return user_error("the weight {} belongs to no placeholder of the graph", name);
    CLEAVE_CHECK(check_weight(name, t, g.type(v)));
  }
  return {};
}

// What only training has.
void refuse_training(const Graph& g, Exporter& e) {
  for (const Placeholder& p : g.placeholders())
    if (p.role == Role::tangent || p.role == Role::saved)
      e.refuse(fmt::format("{} %{}: only forward graphs can be written", name_of(p.role),
                           g.name(p.value)));
  for (const Return& r : g.returns()) {
    if (r.kind == ReturnKind::update)
      e.refuse(fmt::format("update of %{}: a model of ONNX has no state", g.name(r.target)));
    if (r.kind == ReturnKind::grad)
      e.refuse(fmt::format("grad of %{}: only forward graphs can be written", g.name(r.target)));
  }
}

Failure all_of(const Refusals& refusals) {
  std::vector<std::pair<std::string, int64_t>> sorted(refusals.begin(), refusals.end());
  std::ranges::stable_sort(sorted,
                           [](const auto& a, const auto& b) { return a.second > b.second; });
  std::string text = fmt::format("{} kinds of calls can't be written as ONNX", sorted.size());
  for (const auto& [why, count] : sorted) text += fmt::format("\n  {} x {}", count, why);
  return unsupported("{}", text);
}

bool is_read(const Graph& g, ValueId v) {
  return g.use_count(v) > 0 ||
         std::ranges::any_of(g.returns(), [&](const Return& r) { return r.value == v; });
}

// Inputs and initialisers of the placeholders; their values, "" for symints.
Vs write_placeholders(const Graph& g, const ExportOptions& options, ModelBuilder& m,
                      std::vector<onnx::ValueInfo>& inputs, Exporter& e) {
  Vs values;
  for (const Placeholder& p : g.placeholders()) {
    const Type& t = g.type(p.value);
    const std::string& name = g.name(p.value);
    if (p.role == Role::symint || (p.role == Role::rng_state && !is_read(g, p.value))) {
      values.push_back({});
      continue;
    }
    if (t.dtype == DType::c64) e.refuse(fmt::format("%{}: complex numbers", name));
    values.push_back({m.fresh(name), t.dtype});
    const auto weight =
        options.weights ? options.weights->find(name) : decltype(options.weights->end()){};
    if (options.weights && weight != options.weights->end())
      m.weight(values.back().name, weight->second);
    else
      inputs.push_back(value_info(values.back().name, t));
  }
  return values;
}

// Outputs need nodes that make them, and names of their own.
std::vector<onnx::ValueInfo> write_outputs(const Graph& g, const Vs& returned, ModelBuilder& m) {
  std::vector<onnx::ValueInfo> outputs;
  for (size_t k = 0; k < returned.size(); ++k) {
    V v = returned[k];
    const bool taken =
        std::ranges::any_of(outputs, [&](const onnx::ValueInfo& o) { return o.name == v.name; });
    if (taken || !m.is_made_here(v.name)) {
      m.name_after("out." + std::to_string(k));
      v = m.node("Identity", {v}, v.dtype);
    }
    outputs.push_back(value_info(v.name, g.type(g.returns()[k].value)));
  }
  return outputs;
}

}  // namespace

onnx::ValueInfo value_info(const std::string& name, const Type& t) {
  onnx::ValueInfo v;
  v.name = name;
  v.type.kind = onnx::TypeProto::Kind::tensor;
  v.type.element = onnx::element_of(t.dtype);
  v.type.shape.emplace();
  for (const Dim& d : t.shape) {
    onnx::Dimension& dim = v.type.shape->emplace_back();
    if (d.is_const())
      dim.value = d.value();
    else
      dim.param = d.text();
  }
  return v;
}

Result<ExportedModel> export_onnx(const Graph& from, const OpRegistry& ops,
                                  const ExportOptions& options, Refusals* refusals) {
  if (options.opset < first_opset || options.opset > last_opset)
    return user_error("the operator set is {}, expected {} to {}", options.opset, first_opset,
                      last_opset);
  if (options.weights) CLEAVE_CHECK(check_weights(from, *options.weights));
  if (from.returns().empty()) return user_error("@{} returns nothing", from.name());
  Graph g = from;
  eliminate_dead_code(g);
  ModelBuilder m;
  Exporter e(m, ops);
  refuse_training(g, e);
  std::vector<onnx::ValueInfo> inputs;
  const Vs values = write_placeholders(g, options, m, inputs, e);
  CLEAVE_CHECK(e.sizes().bind(g, values));
  Vs operands;
  for (size_t k = 0; k < values.size(); ++k)
    if (g.placeholders()[k].role != Role::symint) operands.push_back(values[k]);
  CLEAVE_TRY(const Vs returned, e.write(g, operands));
  if (refusals) *refusals = e.refusals();
  if (!e.refusals().empty()) return all_of(e.refusals());
  std::vector<onnx::ValueInfo> outputs = write_outputs(g, returned, m);
  ExportedModel out;
  out.model.ir_version = ir_version_of(options.opset);
  out.model.producer = "cleave";
  out.model.opsets[""] = options.opset;
  out.model.graph = m.finish(g.name(), std::move(inputs), std::move(outputs));
  out.memory = m.take_memory();
  return out;
}

}  // namespace cleave::to_onnx
