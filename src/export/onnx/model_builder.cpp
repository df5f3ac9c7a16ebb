#include "export/onnx/model_builder.h"

#include <fmt/format.h>

#include <algorithm>

#include "export/onnx/unread.h"

namespace cleave::to_onnx {
namespace {

constexpr int64_t most_shared_bytes = 1024;  // larger constants are not compared

std::span<const std::byte> bytes_of(const HostTensor& t) {
  return {static_cast<const std::byte*>(t.data()), static_cast<size_t>(t.bytes())};
}

onnx::TensorProto tensor_of(const HostTensor& t) {
  onnx::TensorProto out;
  out.element = onnx::element_of(t.dtype());
  out.dims = t.shape();
  out.raw = bytes_of(t);
  out.has_raw = true;
  return out;
}

}  // namespace

// ---- names

std::string ModelBuilder::fresh(const std::string& stem) {
  if (names_.insert(stem).second) return stem;
  for (int64_t& k = next_number_[stem];;) {
    std::string name = stem + "_" + std::to_string(++k);
    if (names_.insert(name).second) return name;
  }
}

std::string ModelBuilder::rename(size_t mark, const std::string& from, const std::string& to) {
  std::vector<onnx::NodeProto>& nodes = scopes_.back().nodes;
  const auto makes = [&](const onnx::NodeProto& n) {
    return std::ranges::find(n.outputs, from) != n.outputs.end();
  };
  const auto first = nodes.begin() + static_cast<std::ptrdiff_t>(mark);
  if (std::find_if(first, nodes.end(), makes) == nodes.end() || !names_.insert(to).second)
    return from;
  for (auto n = first; n != nodes.end(); ++n) {
    std::ranges::replace(n->inputs, from, to);
    std::ranges::replace(n->outputs, from, to);
    if (n->name == from) n->name = to;
  }
  Scope& scope = scopes_.back();
  for (size_t k = scope.made.size(); k-- > 0 && scope.made[k].node >= mark;) {
    Made& m = scope.made[k];
    scope.at.erase(m.key());
    if (m.from == from) m.from = to;
    if (m.value.name == from) m.value.name = to;
    scope.at[m.key()] = k;
  }
  return to;
}

// ---- nodes

V ModelBuilder::node(const std::string& op, const Vs& inputs, DType result, Attributes attributes) {
  return nodes(op, inputs, {result}, std::move(attributes))[0];
}

Vs ModelBuilder::nodes(const std::string& op, const Vs& inputs, const std::vector<DType>& results,
                       Attributes attributes) {
  onnx::NodeProto n;
  n.op = op;
  for (const V& v : inputs) n.inputs.push_back(v.name);
  while (!n.inputs.empty() && n.inputs.back().empty()) n.inputs.pop_back();
  Vs out;
  for (const DType t : results) {
    out.push_back({fresh(stem_ + "." + op), t});
    n.outputs.push_back(out.back().name);
  }
  n.name = out[0].name;
  n.attributes = std::move(attributes);
  scopes_.back().nodes.push_back(std::move(n));
  return out;
}

V ModelBuilder::cast(const V& x, DType t) {
  if (x.dtype == t) return x;
  return made(x.name, fmt::format("as {}", name_of(t)), [&] {
    return node("Cast", {x}, t, {integer("to", static_cast<int64_t>(onnx::element_of(t)))});
  });
}

V ModelBuilder::made(const std::string& from, const std::string& what,
                     const std::function<V()>& make) {
  Made m{from, what, {}, mark()};
  const std::string key = m.key();
  for (const Scope& scope : scopes_)
    if (const auto known = scope.at.find(key); known != scope.at.end())
      return scope.made[known->second].value;
  m.value = make();
  m.node = mark() - 1;  // what `make` asked for stands before it
  Scope& scope = scopes_.back();
  scope.at[key] = scope.made.size();
  scope.made.push_back(std::move(m));
  return scope.made.back().value;
}

// ---- initialisers

V ModelBuilder::add_initialiser(const std::string& name, const HostTensor& t) {
  initialisers_.push_back(tensor_of(t));
  initialisers_.back().name = name;
  return {name, t.dtype()};
}

V ModelBuilder::constant(HostTensor t) {
  std::string key;
  if (t.bytes() <= most_shared_bytes) {
    key = t.type_text() +
          std::string(static_cast<const char*>(t.data()), static_cast<size_t>(t.bytes()));
    if (const auto found = constants_.find(key); found != constants_.end())
      return {found->second, t.dtype()};
  }
  memory_.push_back(std::move(t));
  const V v = add_initialiser(fresh("constant"), memory_.back());
  if (!key.empty()) constants_[key] = v.name;
  return v;
}

V ModelBuilder::number(double value, DType t) { return constant(HostTensor::scalar(value, t)); }

V ModelBuilder::integer_number(int64_t value, DType t) {
  return constant(HostTensor::from<int64_t>({value}, {}).to(t));
}

V ModelBuilder::list(const Ints& values) { return constant(HostTensor::from<int64_t>(values)); }

V ModelBuilder::weight(const std::string& name, const HostTensor& t) {
  if (t.is_row_major()) return add_initialiser(name, t);
  memory_.push_back(t.contiguous());
  return add_initialiser(name, memory_.back());
}

onnx::Attribute ModelBuilder::value_attribute(const V& constant) {
  onnx::Attribute a;
  a.name = "value";
  a.type = static_cast<int64_t>(onnx::AttributeType::tensor);
  onnx::TensorProto t = *std::ranges::find(initialisers_, constant.name, &onnx::TensorProto::name);
  t.name.clear();
  t.dims = {1};
  a.tensor = std::make_shared<const onnx::TensorProto>(std::move(t));
  return a;
}

// ---- scopes

std::vector<onnx::NodeProto> ModelBuilder::end_body() {
  std::vector<onnx::NodeProto> nodes = std::move(scopes_.back().nodes);
  scopes_.pop_back();
  return nodes;
}

void ModelBuilder::roll_back(size_t mark) {
  Scope& scope = scopes_.back();
  scope.nodes.erase(scope.nodes.begin() + static_cast<std::ptrdiff_t>(mark), scope.nodes.end());
  while (!scope.made.empty() && scope.made.back().node >= mark) {
    scope.at.erase(scope.made.back().key());
    scope.made.pop_back();
  }
}

bool ModelBuilder::is_made_here(const std::string& name) const {
  const std::vector<onnx::NodeProto>& nodes = scopes_.back().nodes;
  return std::any_of(nodes.rbegin(), nodes.rend(), [&](const onnx::NodeProto& n) {
    return std::ranges::find(n.outputs, name) != n.outputs.end();
  });
}

onnx::GraphProto ModelBuilder::finish(std::string name, std::vector<onnx::ValueInfo> inputs,
                                      std::vector<onnx::ValueInfo> outputs) {
  onnx::GraphProto g;
  g.name = std::move(name);
  g.nodes = std::move(scopes_.back().nodes);
  g.initializers = std::move(initialisers_);
  g.inputs = std::move(inputs);
  g.outputs = std::move(outputs);
  drop_unread(g);
  return g;
}

}  // namespace cleave::to_onnx
