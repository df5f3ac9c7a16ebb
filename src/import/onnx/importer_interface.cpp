// What a program takes and gives: the model's inputs, initializers and outputs.
#include <algorithm>

#include "import/onnx/importer.h"
#include "import/onnx/names.h"

namespace cleave::onnx {

Result<Dim> Importer::open_size(const std::string& param, const std::string& otherwise) {
  if (const auto found = open_sizes_.find(param); !param.empty() && found != open_sizes_.end())
    return found->second;
  Graph& g = *frames_[0].graph;
  std::string symbol = symbol_name(param.empty() ? otherwise : param);
  const auto names_an_input = [&](const ValueInfo& info) {  // which keeps its name
    return plain_name(info.name) == symbol;
  };
  while (std::ranges::any_of(model_.graph->inputs, names_an_input) || g.find(symbol).valid())
    symbol += '_';
  CLEAVE_TRY(
      [[maybe_unused]] const ValueId id,
      g.add_placeholder(Role::symint, symbol, Type(), false, SymInfo{{1, int64_t{1} << 40}, {}}));
  if (!param.empty()) open_sizes_.emplace(param, Dim::symbol(symbol));
  return Dim::symbol(symbol);
}

Result<Value> Importer::tensor_input(const std::string& name, const TypeProto& type) {
  Graph& g = *frames_[0].graph;
  if (const auto fixed = options_.fixed.find(name); fixed != options_.fixed.end()) {
    Value v = constant(name, fixed->second);
    if (carrier(type.element) == fixed->second.dtype()) v.element = type.element;
    return v;
  }
  const std::optional<DType> dtype = carrier(type.element);
  if (!dtype) {
    refuse("input", fmt::format("of {} elements", name_of(type.element)));
    Value v;
    v.kind = Value::Kind::refused;
    return v;
  }
  Shape shape;
  if (const auto given = options_.shapes.find(name); given != options_.shapes.end()) {
    shape.assign(given->second.begin(), given->second.end());
    if (type.shape && type.shape->size() != shape.size())
      return user_error("input \"{}\" has {} dims, a shape of {} is given", name,
                        type.shape->size(), shape.size());
  } else if (!type.shape) {
    return unsupported("input \"{}\" has no shape in the file: give one", name);
  } else {
    for (size_t d = 0; d < type.shape->size(); ++d) {
      const Dimension& dim = (*type.shape)[d];
      if (dim.value && *dim.value >= 0) {
        shape.emplace_back(*dim.value);
        continue;
      }
      CLEAVE_TRY(shape.emplace_back(), open_size(dim.param, fmt::format("{}_dim{}", name, d)));
    }
  }
  const std::string own = placeholder_name(name);
  CLEAVE_TRY(const ValueId id, g.add_placeholder(Role::input, own, Type(*dtype, shape)));
  input_names_[own] = name;
  return made(id, type.element);
}

Result<Value> Importer::input(const ValueInfo& info) {
  const TypeProto* type = &info.type;
  if (type->kind == TypeProto::Kind::optional && type->inner) {
    type = type->inner.get();
    const auto given = options_.lengths.find(info.name);
    if (given != options_.lengths.end() && given->second == 0) {
      Value v;
      v.kind = Value::Kind::nothing;
      return v;
    }
  }
  if (type->kind == TypeProto::Kind::tensor) return tensor_input(info.name, *type);
  const auto length = options_.lengths.find(info.name);
  if (type->kind == TypeProto::Kind::sequence && type->inner &&
      type->inner->kind == TypeProto::Kind::tensor && length != options_.lengths.end()) {
    if (length->second < 0 || length->second > 4096)
      return user_error("input \"{}\" has {} tensors, expected 0 to 4096", info.name,
                        length->second);
    Value v;
    v.kind = Value::Kind::sequence;
    v.element = type->inner->element;
    for (int64_t k = 0; k < length->second; ++k) {
      CLEAVE_TRY(Value item, tensor_input(fmt::format("{}.{}", info.name, k), *type->inner));
      v.items.push_back(std::move(item));
    }
    return v;
  }
  wanted_.insert(info.name);
  refuse("input", "of a type that is no tensor");
  Value v;
  v.kind = Value::Kind::refused;
  return v;
}

Status Importer::add_inputs(const GraphProto& g) {
  std::set<std::string> initialized;
  for (const TensorProto& t : g.initializers) initialized.insert(t.name);
  for (const ValueInfo& info : g.inputs) {
    if (initialized.contains(info.name)) continue;  // it has a value: IR version 3
    CLEAVE_TRY(Value v, input(info));
    CLEAVE_CHECK(define(info.name, std::move(v)));
  }
  return {};
}

Status Importer::add_initializers(const GraphProto& g) {
  if (g.sparse_initializers > 0) refuse("initializer", "a sparse tensor");
  for (const TensorProto& t : g.initializers) {
    CLEAVE_TRY(Value v, initializer(t));
    CLEAVE_CHECK(define(t.name, std::move(v)));
  }
  return {};
}

// One weight, however often its graph is written: a loop's body has the same in each iteration.
Result<Value> Importer::initializer(const TensorProto& t) {
  Value& v = tensors_[&t];
  if (v.present()) return v;
  Result<HostTensor> elements = read_elements(t, folder_);
  if (!elements.ok()) {
    if (elements.failure().kind != ErrorKind::unsupported)
      return std::move(elements).failure().within(fmt::format("initializer \"{}\"", t.name));
    refuse("initializer", elements.failure().message);
    v.kind = Value::Kind::refused;
    return v;
  }
  v = value_of(std::make_shared<Weight>(Weight{t.name, *std::move(elements)}));
  v.element = t.element;
  v.weight->trained = frames_.size() == 1 && is_float(t.element) && !is_small_float(t.element) &&
                      v.weight->tensor.rank() > 0;
  return v;
}

Status Importer::add_results(const GraphProto& g) {
  Graph& graph = *frames_[0].graph;
  Builder b(graph, ops_);
  const auto give = [&](const Value& v, const std::string& name) -> Status {
    const ValueId id = resolve(v, b);
    if (!b.status().ok()) return b.status().failure();
    if (!id.valid()) return unsupported("output \"{}\" is an optional that holds nothing", name);
    graph.add_return({id});
    return {};
  };
  for (const ValueInfo& info : g.outputs) {
    const Value v = find(info.name);
    if (!v.present()) return user_error("the output \"{}\" is not defined", info.name);
    if (v.kind == Value::Kind::refused) continue;
    if (v.kind == Value::Kind::sequence) {
      for (const Value& item : v.items) CLEAVE_CHECK(give(item, info.name));
    } else {
      CLEAVE_CHECK(give(v, info.name));
    }
  }
  if (rng_.valid()) graph.add_return({b.call1("rng_next", {rng_}), ReturnKind::update, rng_});
  return b.status();
}

}  // namespace cleave::onnx
