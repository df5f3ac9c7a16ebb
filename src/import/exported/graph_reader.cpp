#include "import/exported/graph_reader.h"

#include "import/exported/autocast.h"
#include "import/exported/expression.h"
#include "import/exported/plain_name.h"
#include "import/exported/rules.h"
#include "import/exported/types.h"
#include "import/exported/views.h"
#include "import/printable.h"

namespace cleave::exported {

using Kind = Argument::Kind;

namespace {

// The names of a node's results, in order; empty where one isn't used.
std::vector<std::string> result_names(const Node& node) {
  std::vector<std::string> names;
  for (const Argument& a : node.outputs) {
    if (a.kind == Kind::list)
      for (const Argument& item : a.items)
        names.push_back(item.kind == Kind::tensor ? item.text : "");
    else
      names.push_back(a.kind == Kind::tensor ? a.text : "");
  }
  return names;
}

// Row by row, as far as the file says.
bool is_row_major(const TensorMeta& m) {
  Dim step = 1;
  if (m.strides.size() != m.sizes.size()) return false;
  for (size_t k = m.sizes.size(); k-- > 0;) {
    const Result<Dim> size = dim_of(m.sizes[k]), stride = dim_of(m.strides[k]);
    if (!size.ok() || !stride.ok()) return false;
    if (!(*size == Dim(1)) && !(*stride == step)) return false;
    step = step * *size;
  }
  return true;
}

std::string where(const Node& node) {
  const std::vector<std::string> names = result_names(node);
  std::string text = names.empty() || names[0].empty() ? "" : printable(names[0]) + " = ";
  text += node.target.starts_with("torch.ops.") ? node.target.substr(10) : node.target;
  return node.file.empty() ? text : fmt::format("{} at {}:{}", text, node.file, node.line);
}

// Arguments that mean nothing here: where memory lies, and what only another value of would change.
bool is_ignored(const NamedArgument& a) {
  static const std::set<std::string_view> names = {
      "layout",        "device",    "pin_memory", "non_blocking", "generator",
      "cudnn_enabled", "benchmark", "sparse",     "sparse_grad",  "scale_grad_by_freq"};
  if (!names.contains(a.name)) return false;
  const bool must_be_off = a.name == "scale_grad_by_freq";
  return !must_be_off || a.value.number == 0;
}

// Operands are converted while it lives, under autocast.
class CastOperands {
 public:
  CastOperands(std::optional<DType>& slot, std::optional<DType> t) : slot_(slot) { slot_ = t; }
  ~CastOperands() { slot_.reset(); }
  CastOperands(const CastOperands&) = delete;
  CastOperands& operator=(const CastOperands&) = delete;

 private:
  std::optional<DType>& slot_;
};

}  // namespace

GraphReader::GraphReader(FileContext& file, cleave::Graph& graph, bool is_subgraph)
    : file_(file), graph_(graph), b_(graph, file.ops), is_subgraph_(is_subgraph) {}

void GraphReader::bind(const std::string& name, ValueId placeholder) {
  names_[name] = memories_.add(placeholder);
  placeholders_[name] = names_[name].memory;
}

Status GraphReader::read(const Graph& source) { return read_nodes(source); }

Result<Tensor*> GraphReader::find(const std::string& name) {
  const auto at = names_.find(name);
  if (at == names_.end()) return user_error("{} is read before it is made", printable(name));
  return &at->second;
}

Result<ValueId> GraphReader::value(const std::string& name) {
  CLEAVE_TRY(Tensor* const t, find(name));
  return memories_.read(b_, *t);
}

ValueId GraphReader::written(const std::string& name) const {
  const auto at = placeholders_.find(name);
  if (at == placeholders_.end() || !memories_.is_written(at->second)) return ValueId::none();
  return memories_.value(at->second);
}

Result<AttrValue> GraphReader::symbol(const std::string& name, const Graph& source) {
  const auto at = source.symbols.find(name);
  if (at == source.symbols.end()) return user_error("the size {} has no value", printable(name));
  CLEAVE_TRY(Dim d, dim_of(at->second));
  return AttrValue(std::move(d));
}

Result<ValueId> GraphReader::draw() {
  if (is_subgraph_) return unsupported("random numbers in a branch or a loop");
  if (!rng_.valid()) {
    CLEAVE_TRY(rng_, graph_.add_placeholder(Role::rng_state, graph_.fresh_name("rng"),
                                            Type(DType::i64, {Dim(2)})));
  }
  return rng_;
}

Call::Context GraphReader::context(const Graph& source) {
  return {[this](const std::string& name) -> Result<ValueId> {
            CLEAVE_TRY(const ValueId v, value(name));
            const DType t = graph_.type(v).dtype;
            if (!operand_dtype_ || !is_floating(t) || t == DType::f64) return v;
            return b_.convert(v, *operand_dtype_);
          },
          [this, &source](const std::string& name) { return symbol(name, source); },
          [this] { return draw(); }, [this] { return file_.next_stream++; },
          [this](const std::string& name, ValueId v) { return write(name, v); }};
}

Status GraphReader::write(const std::string& name, ValueId value) {
  CLEAVE_TRY(Tensor* const t, find(name));
  if (gradients_ == Gradients::stopped) value = b_.call1("detach", {value});
  return memories_.write(b_, *t, value);
}

Status GraphReader::read_nodes(const Graph& source) {
  for (const Node& node : source.nodes) {
    if (is_about_sizes(node)) continue;
    const size_t first = graph_.value_capacity();
    b_.set_loc(node.file.empty()
                   ? SourceLoc{}
                   : SourceLoc{graph_.file_id(node.file), static_cast<uint32_t>(node.line)});
    Status s = read_node(node, source);
    if (s.ok()) s = b_.status();
    if (!s.ok()) return std::move(s).failure().within(where(node));
    name_values(first, node);
  }
  return {};
}

// Placeholders keep their names; of names that are taken a new one is made, so that none fails.
void GraphReader::set_name(ValueId v, const std::string& given) {
  const std::string name = plain_name(given);
  if (!graph_.value(v).def.valid() || graph_.name(v) == name) return;
  (void)graph_.rename(v, graph_.fresh_name(name));
}

// What stands for one node with others bears its name and the operator's: linear.addmm.
void GraphReader::name_values(size_t first, const Node& node) {
  const std::vector<std::string> names = result_names(node);
  const std::string stem = names.empty() || names[0].empty() ? "" : names[0];
  std::set<uint32_t> results;
  for (const std::string& name : names)
    if (const auto at = names_.find(name); !name.empty() && at != names_.end())
      results.insert(at->second.value.v);
  for (size_t v = first; v < graph_.value_capacity(); ++v) {
    const ValueId id{static_cast<uint32_t>(v)};
    const ValueInfo& info = graph_.value(id);
    if (stem.empty() || !info.def.valid() || results.contains(id.v)) continue;
    set_name(id, stem + "." + graph_.node(info.def).op->name);
  }
}

Status GraphReader::read_node(const Node& node, const Graph& source) {
  const Target t = parse_target(node.target);
  if (t.space == "higher_order") return read_higher_order(node, t.name, source);
  const bool in_place = t.name.ends_with('_') && !t.name.ends_with("__");
  if (in_place) return read_in_place(node, source, t.name.substr(0, t.name.size() - 1), t.overload);
  return read_call(node, source, t.name, t.overload);
}

Status GraphReader::read_call(const Node& node, const Graph& source, std::string name,
                              std::string_view overload) {
  const Call::Context at = context(source);
  Call call(node, b_, at);
  if (is_view(name) && call.has_tensor("self")) return read_view(node, call, name, source);
  CLEAVE_TRY(const Values results, called(call, name, overload));
  return bind_results(node, results, source);
}

// copy_, add_, index_put_, ...: the value that the operator without _ gives, in the memory of self.
Status GraphReader::read_in_place(const Node& node, const Graph& source, const std::string& name,
                                  std::string_view overload) {
  const Call::Context at = context(source);
  Call call(node, b_, at);
  const char* written = call.has_tensor("self") ? "self" : "input";
  const ValueId self = call.tensor(written);
  CLEAVE_CHECK(b_.status());
  const Type type = b_.type(self);
  if (is_view(name) && name != "detach")
    return unsupported("a view that a tensor becomes in place: use the operator without _");
  ValueId v = self;
  if (name != "detach") {
    CLEAVE_TRY(const Values results, called(call, name, overload));
    CLEAVE_CHECK(b_.status());
    if (results.empty()) return unsupported("a write without a value");
    v = call.to(results[0], type.dtype);
    if (call.type(v).shape != type.shape) v = call.op("expand", {v}, {{"size", type.shape}});
  } else {
    v = call.op("detach", {self});
  }
  CLEAVE_CHECK(b_.status());
  const std::string self_name = call.find(written)->text;
  if (v != self) CLEAVE_CHECK(write(self_name, v));
  const std::vector<std::string> names = result_names(node);
  if (names.empty() || names[0].empty()) return {};
  names_[names[0]] = names_[self_name];
  set_name(v, names[0]);
  return check_type(names[0], v, source);
}

Status GraphReader::read_view(const Node& node, Call& call, const std::string& name,
                              const Graph& source) {
  const ValueId self = call.tensor("self");
  CLEAVE_CHECK(b_.status());
  const std::string self_name = call.find("self")->text;
  const auto meta = source.tensors.find(self_name);
  const bool row_major = meta != source.tensors.end() && is_row_major(meta->second);
  const Views views = views_of(name, call, self, row_major);
  CLEAVE_CHECK(b_.status());
  const std::vector<std::string> names = result_names(node);
  if (names.size() > views.results.size())
    return user_error("{} results of {}", names.size(), views.results.size());
  Values together;
  if (!views.op.empty()) together = call.ops(views.op, {self}, views.attrs);
  CLEAVE_CHECK(b_.status());
  for (size_t k = 0; k < names.size(); ++k) {
    if (names[k].empty()) continue;
    ValueId v = self;
    if (k < together.size())
      v = together[k];
    else
      for (const ViewStep& step : views.results[k]) v = call.op(step.op, {v}, step.attrs);
    CLEAVE_CHECK(b_.status());
    const Tensor base = names_[self_name];
    names_[names[k]] = views.sharing == Views::Sharing::view
                           ? memories_.view(base, views.results[k], v)
                           : memories_.copy_or_view(base, v);
    if (v != self) set_name(v, names[k]);
    CLEAVE_CHECK(check_type(names[k], v, source));
  }
  return {};
}

// By a rule; else by the operator of the same name.
Result<Values> GraphReader::called(Call& call, const std::string& name, std::string_view overload) {
  const CastOperands casting(operand_dtype_,
                             autocast_ ? autocast_dtype(name, *autocast_) : std::optional<DType>());
  if (const Rule rule = find_rule(name, overload)) {
    Values results = rule(call);
    CLEAVE_CHECK(b_.status());
    return results;
  }
  const OpDef* op = file_.ops.find(name);
  if (!op) return unsupported("the operator {} is not covered", name);
  return called_directly(call, *op);
}

Result<Values> GraphReader::called_directly(Call& call, const OpDef& op) {
  std::vector<CallOperand> operands;
  NamedAttrs attrs;
  for (const ArgDef& arg : op.schema.args) {
    const Argument* given = call.find(arg.name);
    const bool is_tensor = given && (given->kind == Kind::tensor || given->kind == Kind::list);
    if (arg.is_operand()) {
      if (arg.list)
        operands.emplace_back(call.tensors(arg.name));
      else if (given && given->kind != Kind::none && !is_tensor)
        operands.emplace_back(call.value(*given));
      else
        operands.emplace_back(call.maybe_tensor(arg.name));
    } else if (given && given->kind != Kind::none && arg.name != "device") {
      AttrValue v = call.value(*given);
      if (!arg.has_default || !(v == arg.default_value)) attrs.emplace_back(arg.name, std::move(v));
    }
    CLEAVE_CHECK(b_.status());
  }
  for (const NamedArgument& a : call.node().inputs)
    if (op.schema.find(a.name) < 0 && a.value.kind != Kind::none && !is_ignored(a))
      return unsupported("its argument {} is not covered", printable(a.name));
  Values results = call.ops(op.name, std::move(operands), std::move(attrs));
  CLEAVE_CHECK(b_.status());
  return results;
}

// A result that is an argument's value shares its memory: dropout that drops nothing.
Status GraphReader::bind_results(const Node& node, const Values& results, const Graph& source) {
  const std::vector<std::string> names = result_names(node);
  if (names.size() > results.size())
    return user_error("{} results of {}", names.size(), results.size());
  for (size_t k = 0; k < names.size(); ++k) {
    if (names[k].empty()) continue;
    const ValueId v = results[k];
    if (!v.valid()) return unsupported("its result {} is not covered", k);
    const Tensor* shared = nullptr;
    for (const NamedArgument& a : node.inputs)
      if (a.value.kind == Kind::tensor)
        if (const auto at = names_.find(a.value.text); at != names_.end() && at->second.value == v)
          shared = &at->second;
    const Tensor made = shared ? *shared : memories_.add(v);
    names_[names[k]] = made;
    if (!shared) set_name(v, names[k]);
    CLEAVE_CHECK(check_type(names[k], v, source));
  }
  return {};
}

// What is made has the type that the file says.
Status GraphReader::check_type(const std::string& name, ValueId v, const Graph& source) {
  const auto at = source.tensors.find(name);
  if (at == source.tensors.end()) return user_error("{} has no type", printable(name));
  const TensorMeta& m = at->second;
  const Type& t = graph_.type(v);
  bool same = m.foreign_dtype.empty() && m.dtype == t.dtype && m.sizes.size() == t.shape.size();
  for (size_t k = 0; same && k < m.sizes.size(); ++k) {
    CLEAVE_TRY(const Dim size, dim_of(m.sizes[k]));
    same = graph_.env().equal(size, t.shape[k]) != SymEnv::Truth::no;
  }
  if (same) return {};
  CLEAVE_TRY(const Type wanted, type_of(m));
  return unsupported("it is {}, and {} in the file", t.text(), wanted.text());
}

Result<ValueId> GraphReader::result(const Argument& a) {
  if (a.kind != Kind::tensor) return ValueId::none();
  return value(a.text);
}

}  // namespace cleave::exported
