#include "import/onnx/importer.h"

#include <algorithm>

#include "import/onnx/names.h"

namespace cleave::onnx {
namespace {

constexpr int64_t largest_known = 1 << 16;  // elements that are looked at
constexpr int64_t most_known = 1 << 22;     // elements that are held, of all values

}  // namespace

Importer::Importer(const ModelProto& model, const OpRegistry& ops, const OnnxOptions& options,
                   const std::string& folder)
    : model_(model), ops_(ops), options_(options), folder_{folder} {}

// ---- values

Value Importer::made(ValueId id, Element e) const {
  Value v;
  v.kind = Value::Kind::tensor;
  v.element = e;
  v.id = id;
  v.frame = frames_.size() - 1;
  return v;
}

namespace {

constexpr int64_t largest_shared_bytes = 1 << 16;

}  // namespace

Value Importer::constant(const std::string& name, HostTensor t) {
  if (t.bytes() > largest_shared_bytes)
    return value_of(std::make_shared<Weight>(Weight{name, std::move(t)}));
  std::string key = t.type_text();
  key.append(static_cast<const char*>(t.data()), static_cast<size_t>(t.bytes()));
  std::shared_ptr<Weight>& shared = constants_[std::move(key)];
  if (!shared) shared = std::make_shared<Weight>(Weight{name, std::move(t)});
  return value_of(shared);
}

Result<Value> Importer::constant(const std::string& name, const TensorProto& t) {
  Value& v = tensors_[&t];
  if (!v.present()) {
    CLEAVE_TRY(HostTensor elements, read_elements(t, folder_));
    v = constant(name, std::move(elements));
    v.element = t.element;
  }
  return v;
}

Value Importer::sizes(std::vector<Dim> dims, bool scalar) {
  if (std::ranges::all_of(dims, &Dim::is_const)) {
    std::vector<int64_t> numbers;
    for (const Dim& d : dims) numbers.push_back(d.value());
    return constant("sizes", scalar ? HostTensor::from<int64_t>(numbers, {})
                                    : HostTensor::from<int64_t>(numbers));
  }
  Value v;
  v.kind = Value::Kind::tensor;
  v.element = Element::i64;
  v.dims = std::move(dims);
  v.dims_scalar = scalar;
  return v;
}

Type Importer::type(const Value& v) const {
  if (v.id.valid()) return frames_[v.frame].graph->type(v.id);
  if (v.weight) {
    const auto& shape = v.weight->tensor.shape();
    return {v.weight->tensor.dtype(), Shape(shape.begin(), shape.end())};
  }
  if (v.dims)
    return {DType::i64, v.dims_scalar ? Shape{} : Shape{Dim(static_cast<int64_t>(v.dims->size()))}};
  return {};
}

std::shared_ptr<const Array> Importer::known(ValueId id) const {
  const auto& known = frames_.back().known;
  const auto found = known.find(id.v);
  return found == known.end() ? nullptr : found->second;
}

std::shared_ptr<const Array> Importer::known(const Value& v) const {
  if (v.id.valid()) {
    const auto& known = frames_[v.frame].known;
    const auto found = known.find(v.id.v);
    return found == known.end() ? nullptr : found->second;
  }
  if (!v.weight || v.weight->tensor.numel() > largest_known) return nullptr;
  return std::make_shared<const Array>(as_array(v.weight->tensor));
}

void Importer::set_known(ValueId id, Array a) {
  known_elements_ += 1 + a.numel();
  if (known_elements_ > most_known) return;
  frames_.back().known[id.v] = std::make_shared<const Array>(std::move(a));
}

std::string Importer::placeholder_name(const std::string& name) const {
  return frames_[0].graph->fresh_name(plain_name(name));
}

Result<ValueId> Importer::placeholder(Weight& w) {
  if (w.id.valid()) return w.id;
  const auto& shape = w.tensor.shape();
  const std::string name = placeholder_name(w.name);
  CLEAVE_TRY(w.id, frames_[0].graph->add_placeholder(
                       w.trained ? Role::param : Role::constant, name,
                       Type(w.tensor.dtype(), Shape(shape.begin(), shape.end())), w.trained));
  if (!w.trained && w.tensor.numel() <= largest_known)
    frames_[0].known[w.id.v] = std::make_shared<const Array>(as_array(w.tensor));
  return w.id;
}

ValueId Importer::lifted(ValueId id, size_t from, size_t to) {
  for (size_t f = from + 1; f <= to; ++f) {
    Frame& frame = frames_[f];
    const auto found = frame.captured.find(id.v);
    if (found != frame.captured.end()) {
      id = found->second;
      continue;
    }
    const Graph& around = *frames_[f - 1].graph;
    const Result<ValueId> made = frame.graph->add_placeholder(
        Role::input, frame.graph->fresh_name(around.name(id)), around.type(id));
    if (!made.ok()) return {};
    frame.captured[id.v] = *made;
    frame.outer.push_back(id);
    const auto known = frames_[f - 1].known.find(id.v);
    if (known != frames_[f - 1].known.end()) frame.known[made->v] = known->second;
    id = *made;
  }
  return id;
}

ValueId Importer::resolve(const Value& v, Builder& b) {
  if (v.kind == Value::Kind::sequence) {
    b.fail(unsupported("a sequence stands where a tensor is expected"));
    return {};
  }
  if (v.kind != Value::Kind::tensor) return {};
  if (v.id.valid()) {
    // A frame that was left holds no values any more.
    if (v.frame >= frames_.size()) b.fail(bug("a value of a graph that was left is read"));
    return v.frame < frames_.size() ? lifted(v.id, v.frame, frames_.size() - 1) : ValueId{};
  }
  if (v.weight) {
    const HostTensor& t = v.weight->tensor;
    if (t.numel() == 1 && !v.weight->trained) {
      Array a = as_array(t);
      const bool finite = !a.floating() || a.f[0] == a.f[0];
      const int64_t i = a.floating() ? 0 : a.i[0];
      if (finite && i > -(int64_t{1} << 53) && i < int64_t{1} << 53) {
        AttrValue number;
        if (a.floating())
          number = a.f[0];
        else if (a.dtype == DType::boolean)
          number = i != 0;
        else
          number = i;
        const auto& s = t.shape();
        const ValueId id = b.call1(
            "full", {},
            {{"size", Shape(s.begin(), s.end())}, {"fill_value", number}, {"dtype", t.dtype()}});
        if (id.valid()) set_known(id, std::move(a));
        return id;
      }
    }
    if (!v.weight->id.valid()) weights_.push_back(v.weight);
    Result<ValueId> id = placeholder(*v.weight);
    if (!id.ok()) {
      b.fail(std::move(id).failure());
      return {};
    }
    return lifted(*id, 0, frames_.size() - 1);
  }
  // Sizes: each as the size of a tensor that has it.
  Values parts;
  for (const Dim& d : *v.dims) {
    if (d.is_const()) {
      parts.push_back(b.full({}, d.value(), DType::i64));
    } else {
      const ValueId zero = b.full({}, 0.0, DType::f32);
      parts.push_back(b.call1("sym_size", {b.expand(zero, {d})}, {{"dim", 0}}));
    }
  }
  if (v.dims_scalar) return parts[0];
  return b.call1("stack", {CallOperand(std::move(parts))}, {{"dim", 0}});
}

Result<ValueId> Importer::rng() {
  if (!rng_.valid()) {
    CLEAVE_TRY(rng_, frames_[0].graph->add_placeholder(Role::rng_state, placeholder_name("rng"),
                                                       Type(DType::i64, {2})));
  }
  return lifted(rng_, 0, frames_.size() - 1);
}

void Importer::want(const Value& v) {
  if (!v.id.valid() || v.frame >= frames_.size()) return;
  std::vector<std::pair<size_t, ValueId>> open = {{v.frame, v.id}};
  std::set<std::pair<size_t, uint32_t>> seen;
  while (!open.empty()) {
    const auto [f, id] = open.back();
    open.pop_back();
    if (!seen.insert({f, id.v}).second) continue;
    const Graph& g = *frames_[f].graph;
    const NodeId def = g.value(id).def;
    if (def.valid()) {
      for (const ValueId in : g.node(def).inputs)
        if (in.valid() && !in.is_number()) open.push_back({f, in});
      continue;
    }
    if (f > 0) {
      for (const auto& [outer, inner] : frames_[f].captured)
        if (inner == id) open.push_back({f - 1, ValueId{outer}});
    } else if (const auto named = input_names_.find(g.name(id)); named != input_names_.end()) {
      wanted_.insert(named->second);
    }
  }
}

std::map<std::string, HostTensor> Importer::take_weights() {
  std::map<std::string, HostTensor> out;
  for (const auto& w : weights_)
    if (w->id.valid() && graph().placeholder_of(w->id))
      out.emplace(graph().name(w->id), std::move(w->tensor));
  return out;
}

// ---- names

Value Importer::find(const std::string& name) const {
  if (name.empty()) return {};
  const auto& scopes = scopes_.back();
  for (auto scope = scopes.rbegin(); scope != scopes.rend(); ++scope)
    if (const auto found = scope->find(name); found != scope->end()) return found->second;
  return {};
}

Status Importer::define(const std::string& name, Value v) {
  if (name.empty()) return {};
  if (!scopes_.back().back().emplace(name, std::move(v)).second)
    return user_error("the name \"{}\" is given twice", name);
  return {};
}

void Importer::refuse(const std::string& op, const std::string& why) {
  ++refusals_[fmt::format("{}: {}", op, why)];
}

Status Importer::run(Graph& g) {
  frames_.push_back({&g});
  scopes_.push_back({Scope{}});
  file_ = 0;
  const Context context{&model_.opsets, nullptr, 0};
  CLEAVE_CHECK(add_inputs(*model_.graph));
  CLEAVE_CHECK(add_initializers(*model_.graph));
  CLEAVE_CHECK(run_nodes(model_.graph->nodes, context));
  return refusals_.empty() ? add_results(*model_.graph) : Status();
}

}  // namespace cleave::onnx
