// GraphModule: its state from a file's tensors, and the calls of its graph in a program's.
#include "cleave/graph_module.h"

#include <algorithm>
#include <fstream>
#include <iterator>

#include "compilers/state_tree.h"
#include "compilers/traced_graph.h"
#include "ir/specialize.h"
#include "trace/record.h"
#include "trace/record_graph.h"
#include "trace/tracing.h"

namespace cleave {
namespace {

using trace::Access;
using trace::RecordingPtr;
using trace::refuse;
using trace::value_or_throw_at;

bool is_state(Role role) {
  return role == Role::param || role == Role::buffer || role == Role::constant;
}
bool is_given(Role role) {
  return !is_state(role) && role != Role::symint && role != Role::rng_state;
}

std::vector<int64_t> shape_of(const Type& type) {
  std::vector<int64_t> out;
  for (const Dim& d : type.shape) out.push_back(d.value());
  return out;
}

const Graph& forward_graph(const TracedGraph& graph) {
  const Graph& g = graph.state().graph;
  if (g.is_joint())
    throw_failure(
        user_error("GraphModule: @{} returns gradients, expected a forward graph", g.name()));
  return g;
}

void check_weight(const Graph& g, const Placeholder& p, DType dtype,
                  const std::vector<int64_t>& shape) {
  const Type& type = g.type(p.value);
  if (type.dtype != dtype || Shape(shape.begin(), shape.end()) != type.shape)
    throw_failure(user_error("GraphModule: {} is {}, the graph has {}", g.name(p.value),
                             HostTensor(dtype, shape).type_text(), type.text()));
}

const HostTensor& weight_of(const Graph& g, const Placeholder& p, const NamedTensors& weights) {
  const auto known = weights.find(g.name(p.value));
  if (known == weights.end())
    throw_failure(user_error("GraphModule: the weights lack {} of @{}", g.name(p.value), g.name()));
  check_weight(g, p, known->second.dtype(), known->second.shape());
  return known->second;
}

std::string suffix_of(const std::string& path) {
  const size_t dot = path.rfind('.');
  return dot == std::string::npos ? "" : path.substr(dot);
}

GraphModule of_text(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  const std::string text{std::istreambuf_iterator<char>(file), {}};
  if (!file) throw_failure(user_error("{}: can't read it: {}", path, std::strerror(errno)));
  const TracedGraph graph = TracedGraph::parse(text);
  const bool has_state = std::ranges::any_of(graph.inputs(), [](const GraphValue& v) {
    return v.role == "param" || v.role == "buffer" || v.role == "const";
  });
  const std::string beside = path.substr(0, path.size() - suffix_of(path).size()) + ".safetensors";
  return GraphModule(graph, has_state ? load_tensors(beside) : NamedTensors());
}

}  // namespace

GraphModule GraphModule::load(const std::string& path) {
  const std::string suffix = suffix_of(path);
  if (suffix == ".pt2") return GraphModule(load_exported(path));
  if (suffix == ".onnx") return GraphModule(load_onnx(path));
  if (suffix == ".clv") return of_text(path);
  throw_failure(user_error("{}: the file's kind is {}, expected .pt2, .onnx or .clv", path,
                           suffix.empty() ? "unknown" : suffix));
}

GraphModule::GraphModule(const ExportedModel& model) : graph_(model.graph) {
  add_state(model.weights, model.ties);
}

GraphModule::GraphModule(const OnnxModel& model) : graph_(model.graph) {
  add_state(model.weights, {});
}

GraphModule::GraphModule(const TracedGraph& graph, const NamedTensors& weights) : graph_(graph) {
  add_state(weights, {});
}

void GraphModule::add_state(const NamedTensors& weights,
                            const std::map<std::string, std::string>& ties) {
  const Graph& g = forward_graph(graph_);
  StateTree tree(*this);
  std::map<std::string, Variable> by_name;
  for (const Placeholder& p : g.placeholders()) {
    variables_.emplace_back();
    constants_.emplace_back();
    if (!is_state(p.role)) continue;
    const std::string& name = g.name(p.value);
    const HostTensor& known = weight_of(g, p, weights);
    if (p.role == Role::constant) {
      constants_.back() = constant(known);
      continue;
    }
    Variable& v = variables_.back();
    v = p.role == Role::param ? tree.add_parameter(name, known) : tree.add_buffer(name, known);
    if (p.role == Role::param && is_floating(v.dtype())) v.set_requires_grad(p.wants_grad);
    by_name.emplace(name, v);
  }
  for (const auto& [name, of] : ties)
    if (const auto v = by_name.find(of); v != by_name.end()) tree.tie(name, v->second);
}

GraphModule GraphModule::with_graph(const TracedGraph& graph, const NamedTensors& consts) const {
  const Graph& mine = graph_.state().graph;
  std::map<std::string, Variable> known;
  for (size_t k = 0; k < variables_.size(); ++k)
    if (variables_[k].defined())
      known.emplace(mine.name(mine.placeholders()[k].value), variables_[k]);
  GraphModule out(*this);
  out.graph_ = graph;
  out.share_state(known, consts);
  return out;
}

void GraphModule::share_state(const std::map<std::string, Variable>& known,
                              const NamedTensors& consts) {
  const Graph& g = forward_graph(graph_);
  variables_.clear();
  constants_.clear();
  for (const Placeholder& p : g.placeholders()) {
    variables_.emplace_back();
    constants_.emplace_back();
    if (p.role == Role::constant) constants_.back() = constant(weight_of(g, p, consts));
    if (p.role != Role::param && p.role != Role::buffer) continue;
    const std::string& name = g.name(p.value);
    const auto at = known.find(name);
    if (at == known.end())
      throw_failure(
          user_error("GraphModule: the module has no {}, which @{} reads", name, g.name()));
    check_weight(g, p, at->second.dtype(), at->second.shape());
    variables_.back() = at->second;
  }
}

Tensors GraphModule::operator()(const Tensors& inputs, Location at) const {
  const Call call(*this);
  return recorded(inputs, at);
}

Tensor GraphModule::operator()(const Tensor& input, Location at) const {
  const Call call(*this);
  Tensors results = recorded({input}, at);
  if (results.size() != 1)
    refuse(at, "GraphModule: @{} returns {} tensors; call it with a list of inputs, {{x}}",
           graph_.name(), results.size());
  return results[0];
}

Tensors GraphModule::recorded(const Tensors& inputs, Location at) const {
  const Graph& g = graph_.state().graph;
  const auto taken = static_cast<size_t>(std::ranges::count_if(
      g.placeholders(), [](const Placeholder& p) { return is_given(p.role); }));
  if (inputs.size() != taken)
    refuse(at, "GraphModule: {} inputs, @{} has {}", inputs.size(), g.name(), taken);
  const RecordingPtr r = trace::common_recording("GraphModule", {inputs}, at);
  Values given;
  std::vector<std::optional<std::vector<int64_t>>> shapes;
  std::vector<Tensor> operands;
  size_t next = 0;
  for (size_t k = 0; k < g.placeholders().size(); ++k) {
    const Placeholder& p = g.placeholders()[k];
    Tensor t = variables_[k].defined() ? Tensor(variables_[k]) : constants_[k];
    if (is_given(p.role)) {
      const std::string& name = g.name(p.value);
      t = inputs[next++];
      trace::require_defined("GraphModule", name.c_str(), t, at);
      if (t.dtype() != g.type(p.value).dtype)
        refuse(at, "GraphModule: %{} is {}, @{} has {}", name, t.type_text(), g.name(),
               g.type(p.value).text());
    }
    given.push_back(r->value_of(t, at));
    shapes.emplace_back();
    if (t.defined()) shapes.back() = t.sizes();
    operands.push_back(std::move(t));
  }
  const SymbolValues symbols = value_or_throw_at(at, bind_symbols(g, shapes));
  Graph sized = value_or_throw_at(at, specialize(g, symbols));
  for (size_t k = 0; k < given.size(); ++k)
    if (g.placeholders()[k].role == Role::symint)
      given[k] =
          r->value_of(full({}, symbols.at(g.name(g.placeholders()[k].value)), DType::i64, at), at);
  const Values values = trace::record_graph(*r, sized, given, at);
  Tensors results;
  for (size_t k = 0; k < values.size(); ++k) {
    const Return& ret = g.returns()[k];
    const Tensor value = Access::tensor(r, values[k]);
    if (ret.kind == ReturnKind::result) {
      results.push_back(value);
    } else if (g.placeholder_of(ret.target)->role != Role::rng_state) {
      const size_t target = g.value(ret.target).index;
      if (variables_[target].defined())
        assign(variables_[target], value, at);
      else
        assign(operands[target], value, at);
    }
  }
  return results;
}

std::vector<InputSpec> GraphModule::inputs(const std::map<std::string, int64_t>& sizes) const {
  const Graph& g = graph_.state().graph;
  for (const auto& [name, value] : sizes)
    if (!g.find(name).valid())
      throw_failure(user_error("GraphModule: @{} has no symint {}", g.name(), name));
  const Graph sized = value_or_throw(specialize(g, sizes));
  std::vector<InputSpec> out;
  for (const Placeholder& p : sized.placeholders())
    if (is_given(p.role)) {
      const Type& type = sized.type(p.value);
      out.push_back({sized.name(p.value), type.dtype, shape_of(type)});
    }
  return out;
}

}  // namespace cleave
