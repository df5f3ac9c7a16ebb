#include "import/onnx/call.h"

#include "ir/op_view.h"

namespace cleave::onnx {
namespace {

constexpr int64_t largest_fold = 1 << 16;  // elements

int64_t version_of(const Context& context, const std::string& domain) {
  const auto found = context.opsets->find(domain);
  return found == context.opsets->end() ? 1 : found->second;
}

}  // namespace

Call::Call(Importer& importer, const NodeProto& node, const Context& context,
           std::vector<Value> inputs)
    : importer_(importer), node_(node), context_(context), builder_(importer.top(), importer.ops()),
      version_(version_of(context, node.domain)), inputs_(std::move(inputs)),
      outputs_(node.outputs.size()) {}

const Value& Call::value(size_t i) const {
  static const Value absent;
  return i < inputs_.size() ? inputs_[i] : absent;
}

V Call::in(size_t i) { return has(i) ? importer_.resolve(inputs_[i], builder_) : V{}; }

Type Call::type(size_t i) const { return has(i) ? importer_.type(inputs_[i]) : Type(); }

Result<Ints> Call::sizes(size_t i) const {
  const Type t = type(i);
  if (!t.is_static())
    return unsupported("input {} is {}, and its sizes have to be numbers", i, t.text());
  return static_shape(t);
}

std::shared_ptr<const Array> Call::known(size_t i) const {
  return has(i) ? importer_.known(inputs_[i]) : nullptr;
}

std::optional<std::vector<Dim>> Call::known_dims(size_t i) const {
  if (!has(i)) return std::nullopt;
  if (inputs_[i].dims) return inputs_[i].dims;
  const auto a = known(i);
  if (!a || a->rank() > 1 || a->floating()) return std::nullopt;
  return std::vector<Dim>(a->i.begin(), a->i.end());
}

Result<Array> Call::constant(size_t i, const char* what) {
  if (const auto a = known(i)) return *a;
  if (has(i)) importer_.want(inputs_[i]);
  return unsupported("its {} is computed from what the program is given", what);
}

Result<Ints> Call::ints(size_t i, const char* what) {
  CLEAVE_TRY(const Array a, constant(i, what));
  if (!a.floating()) return a.i;
  Ints out;
  for (const double x : a.f) out.push_back(truncate_to(DType::i64, x));
  return out;
}

Result<std::vector<Dim>> Call::dims(size_t i, const char* what) {
  if (const auto d = known_dims(i)) return *d;
  CLEAVE_TRY(const Ints values, ints(i, what));
  return std::vector<Dim>(values.begin(), values.end());
}

const Attribute* Call::attribute(const std::string& name) const {
  for (const Attribute& a : node_.attributes) {
    if (a.name != name) continue;
    if (a.reference.empty()) return &a;
    if (!context_.attributes) return nullptr;
    const auto bound = context_.attributes->find(a.reference);
    return bound == context_.attributes->end() ? nullptr : &bound->second;
  }
  return nullptr;
}

int64_t Call::integer(const std::string& name, int64_t otherwise) const {
  const Attribute* a = attribute(name);
  return a ? a->i : otherwise;
}
double Call::real(const std::string& name, double otherwise) const {
  const Attribute* a = attribute(name);
  return a ? static_cast<double>(a->f) : otherwise;
}
std::string Call::text(const std::string& name, const std::string& otherwise) const {
  const Attribute* a = attribute(name);
  return a ? a->s : otherwise;
}
Ints Call::list(const std::string& name, const Ints& otherwise) const {
  const Attribute* a = attribute(name);
  return a ? a->ints : otherwise;
}
std::vector<double> Call::reals(const std::string& name) const {
  const Attribute* a = attribute(name);
  return a ? std::vector<double>(a->floats.begin(), a->floats.end()) : std::vector<double>();
}

Result<int64_t> Call::axis(int64_t axis, int64_t rank) const {
  if (axis < -rank || axis >= rank)
    return user_error("axis {} is outside [{}, {})", axis, -rank, rank);
  return axis < 0 ? axis + rank : axis;
}

Result<Ints> Call::axes(Ints axes, int64_t rank) const {
  for (int64_t& a : axes) { CLEAVE_TRY(a, axis(a, rank)); }
  return axes;
}

Result<Ints> Call::axes_of(size_t input, int64_t moved, bool& given) {
  given = version_ >= moved ? has(input) : this->given("axes");
  if (!given) return Ints{};
  return version_ >= moved ? ints(input, "axes") : list("axes");
}

// ---- calls

Values Call::ops(const std::string& name, std::vector<CallOperand> operands, NamedAttrs attrs) {
  if (!builder_.status().ok()) return {};
  const NodeId before = builder_.graph().last_node();
  Values outs = builder_.call(name, std::move(operands), std::move(attrs));
  if (!outs.empty() && builder_.graph().last_node() != before) fold(outs);
  return outs;
}

V Call::op(const std::string& name, std::vector<CallOperand> operands, NamedAttrs attrs) {
  const Values outs = ops(name, std::move(operands), std::move(attrs));
  return outs.empty() ? V{} : outs[0];
}

// Computes the results now where all operands are known.
void Call::fold(const Values& outs) {
  const Graph& g = builder_.graph();
  const NodeId n = g.value(outs[0]).def;
  const Node& node = g.node(n);
  if (!node.op->reference.present() || cleave::has(node.op->traits, Trait::effect | Trait::random))
    return;
  std::vector<std::shared_ptr<const Array>> operands;
  std::vector<const Array*> pointers;
  for (const V v : node.inputs) {
    if (!v.valid()) {
      pointers.push_back(nullptr);
      continue;
    }
    operands.push_back(importer_.known(v));
    if (!operands.back()) return;
    pointers.push_back(operands.back().get());
  }
  for (const V v : outs) {
    const Type& t = g.type(v);
    if (t.is_none) continue;
    if (!t.is_static() || !t.numel().is_const() || t.numel().value() > largest_fold) return;
  }
  const Result<Arrays> results = (*node.op->reference)(RunView(g.view(n)), pointers);
  if (!results.ok()) return;  // it will say so when it runs
  for (size_t k = 0; k < outs.size() && k < results->size(); ++k) {
    Array a = (*results)[k];
    for (double& x : a.f) x = round_to(a.dtype, x);
    importer_.set_known(outs[k], std::move(a));
  }
}

const Type& Call::type(V v) const {
  static const Type after_failure(DType::f32, Shape(64, Dim(1)));
  return v.valid() ? builder_.type(v) : after_failure;
}

V Call::convert(V x, DType t) {
  if (!x.valid() || type(x).dtype == t) return x;
  return op("_to_copy", {x}, {{"dtype", t}});
}
V Call::view(V x, Shape size) {
  if (!x.valid() || shape(x) == size) return x;
  return op("view", {x}, {{"size", std::move(size)}});
}
V Call::expand(V x, Shape size) {
  if (!x.valid() || shape(x) == size) return x;
  return op("expand", {x}, {{"size", std::move(size)}});
}
V Call::permute(V x, Ints dims) { return op("permute", {x}, {{"dims", std::move(dims)}}); }
V Call::unsqueeze(V x, int64_t dim) { return op("unsqueeze", {x}, {{"dim", dim}}); }
V Call::sum(V x, Ints dims, bool keep) {
  return dims.empty() ? x : op("sum", {x}, {{"dim", std::move(dims)}, {"keepdim", keep}});
}
V Call::mean(V x, Ints dims, bool keep) {
  return dims.empty() ? x : op("mean", {x}, {{"dim", std::move(dims)}, {"keepdim", keep}});
}
V Call::amax(V x, Ints dims, bool keep) {
  return dims.empty() ? x : op("amax", {x}, {{"dim", std::move(dims)}, {"keepdim", keep}});
}
V Call::slice(V x, int64_t dim, Dim start, Dim end, int64_t step) {
  return op("slice", {x}, {{"dim", dim}, {"start", start}, {"end", end}, {"step", step}});
}
V Call::select(V x, int64_t dim, int64_t index) {
  return op("select", {x}, {{"dim", dim}, {"index", index}});
}
V Call::cat(Values xs, int64_t dim) {
  return xs.size() == 1 ? xs[0] : op("cat", {CallOperand(std::move(xs))}, {{"dim", dim}});
}
V Call::full(Shape shape, double value, DType t) {
  AttrValue number = value;
  if (t == DType::boolean) number = value != 0;
  if (is_integer(t)) number = truncate_to(DType::i64, value);
  return op("full", {}, {{"size", std::move(shape)}, {"fill_value", number}, {"dtype", t}});
}
V Call::tensor(const std::string& name, HostTensor t) {
  return importer_.resolve(importer_.constant(name, std::move(t)), builder_);
}
V Call::tensor(const std::string& name, const Ints& values) {
  return tensor(name, HostTensor::from<int64_t>(values));
}
V Call::floats(const std::string& name, const std::vector<double>& values, const Ints& shape,
               DType t) {
  HostTensor h(t, shape);
  for (size_t k = 0; k < values.size(); ++k) h.set_number(static_cast<int64_t>(k), values[k]);
  return tensor(name, std::move(h));
}

// ---- results

void Call::give(size_t k, V v) {
  if (v.valid()) give(k, v, element_of(type(v).dtype));
}
void Call::give(size_t k, V v, Element e) {
  if (v.valid() && k < outputs_.size()) outputs_[k] = importer_.made(v, e);
}
void Call::give(size_t k, Value v) {
  if (k < outputs_.size()) outputs_[k] = std::move(v);
}

}  // namespace cleave::onnx
