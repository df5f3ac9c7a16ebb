#include "exec/index_fault.h"

#include <algorithm>
#include <optional>
#include <vector>

#include "cleave/host_tensor.h"
#include "ir/op_def.h"
#include "ir/strides.h"

namespace cleave {
namespace {

// A call inside nested graphs, and the calls that hold it, outermost first.
struct Place {
  const Graph* graph;
  NodeId node;
  std::vector<std::pair<const Graph*, NodeId>> holders = {};
};

template <class F>
void each_call(const Place& place, const F& f) {
  f(place);
  const Node& node = place.graph->node(place.node);
  for (size_t k = 0; k < node.op->schema.args.size(); ++k) {
    if (node.op->schema.args[k].kind != ArgKind::graph) continue;
    const OpView view = place.graph->view(place.node);
    const GraphRef body = view.graph_attr(node.op->schema.args[k].name);
    if (!body) continue;
    for (NodeId n = body->first_node(); n.valid(); n = body->next_node(n)) {
      Place inner{body.get(), n, place.holders};
      inner.holders.emplace_back(place.graph, place.node);
      each_call(inner, f);
    }
  }
}

// Whether each element of a result is an element of an operand.
bool moves_elements(const Node& node) {
  constexpr std::string_view names[] = {"where", "_to_copy", "clone", "cat", "contiguous"};
  return has(node.op->traits, Trait::view) ||
         std::ranges::find(names, node.op->name) != std::end(names);
}

bool is_index(const Type& t) { return t.dtype == DType::i64 || t.dtype == DType::i32; }

// The placeholders of the outermost graph that hold elements of `v`, by their numbers.
void sources(const Place& place, ValueId v, std::vector<size_t>& out) {
  const Graph& g = *place.graph;
  if (!v.valid() || !is_index(g.type(v))) return;
  const ValueInfo& info = g.value(v);
  if (!info.def.valid()) {
    if (place.holders.empty()) {
      if (std::ranges::find(out, info.index) == out.end()) out.push_back(info.index);
      return;
    }
    // A group's placeholders are its operands; those of branches and loops may be anything.
    Place outer{place.holders.back().first, place.holders.back().second, place.holders};
    outer.holders.pop_back();
    const Node& holder = outer.graph->node(outer.node);
    if (holder.op->name == "fused" && info.index < holder.inputs.size())
      sources(outer, holder.inputs[info.index], out);
    return;
  }
  const Node& node = g.node(info.def);
  if (!moves_elements(node)) return;
  for (const ValueId in : node.inputs) sources({&g, info.def, place.holders}, in, out);
}

std::optional<int64_t> position_of(int64_t index, const Type& type, const void* memory) {
  if (memory == nullptr || !type.is_static()) return std::nullopt;
  const HostTensor t = HostTensor::borrow(type.dtype, static_shape(type), strides_of(type),
                                          const_cast<void*>(memory));
  const std::vector<int64_t> elements = t.to_vector<int64_t>();
  const auto found = std::ranges::find(elements, index);
  if (found == elements.end()) return std::nullopt;
  return found - elements.begin();
}

// "%target[3,0]"
std::string element_text(const std::string& name, int64_t position,
                         const std::vector<int64_t>& shape) {
  std::vector<int64_t> at(shape.size());
  for (size_t d = shape.size(); d-- > 0; position /= shape[d]) at[d] = position % shape[d];
  return shape.empty() ? "%" + name : fmt::format("%{}[{}]", name, fmt::join(at, ","));
}

std::string element_of(const Graph& g, const Place& place, const Fault& fault,
                       const PlaceholderMemory& memory) {
  const Node& node = place.graph->node(place.node);
  std::vector<size_t> found;
  for (size_t k = node.inputs.size() > 1 ? 1 : 0; k < node.inputs.size(); ++k)
    sources(place, node.inputs[k], found);
  for (const size_t i : found) {
    const ValueId v = g.placeholders()[i].value;
    if (const auto k = position_of(fault.index, g.type(v), memory(i)))
      return element_text(g.name(v), *k, static_shape(g.type(v)));
  }
  return "";
}

// Whether some operand has a dim of this size: the one that is indexed.
bool has_dim(const Place& place, int64_t size) {
  const Node& node = place.graph->node(place.node);
  return std::ranges::any_of(node.inputs, [&](ValueId v) {
    return v.valid() && std::ranges::find(place.graph->type(v).shape, Dim(size)) !=
                            place.graph->type(v).shape.end();
  });
}

std::string line_of(const Place& place) {
  return place.graph->loc_text(place.graph->node(place.node).loc);
}

}  // namespace

std::string fault_text(const Graph& g, NodeId node, const std::string& kernel, const Fault& fault,
                       const PlaceholderMemory& memory) {
  const std::string_view op = fault.message.substr(0, fault.message.find(':'));
  const bool is_index = fault.bound != -1;
  std::vector<Place> calls, of_size;
  if (node.valid())
    each_call({&g, node}, [&](const Place& p) {
      if (p.graph->node(p.node).op->name != op) return;
      calls.push_back(p);
      if (is_index && has_dim(p, fault.bound)) of_size.push_back(p);
    });
  if (!of_size.empty()) calls = of_size;
  // Of several, the one whose input holds the index.
  std::string element, name = kernel;
  size_t chosen = 0;
  for (size_t k = 0; is_index && element.empty() && k < calls.size(); ++k)
    if (element = element_of(g, calls[k], fault, memory); !element.empty()) chosen = k;
  std::string line;
  if (!calls.empty()) {
    const Place& call = calls[chosen];
    name = call.graph->name(call.graph->node(call.node).first_output);
    line = line_of(call);
    if (element.empty() &&
        std::ranges::any_of(calls, [&](const Place& p) { return line_of(p) != line; }))
      line.clear();
  }
  // "cross_entropy at model.cpp:12": the function of cleave whose classes they are.
  const size_t at = line.find(" at ");
  std::string text;
  if (!is_index)
    text = fault.message;
  else
    text = fmt::format("{}: {} {} is out of range [{}, {})",
                       at == std::string::npos ? fault.message : line.substr(0, at),
                       at == std::string::npos ? "index" : "class", fault.index,
                       fault.from_zero ? 0 : -fault.bound, fault.bound);
  if (!element.empty()) text += ", " + element;
  if (line.empty()) return fmt::format("{}, computing %{}", text, name);
  return fmt::format("{}: {}", at == std::string::npos ? line : line.substr(at + 4), text);
}

}  // namespace cleave
