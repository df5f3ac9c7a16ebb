// One node as calls: a rule, an operator of the same name; or a write in place.
#include <algorithm>

#include "base/printable.h"
#include "import/exported/autocast.h"
#include "import/exported/complex_rules.h"
#include "import/exported/complex_views.h"
#include "import/exported/expression.h"
#include "import/exported/graph_reader.h"
#include "import/exported/rules.h"
#include "import/exported/types.h"
#include "import/exported/views.h"

namespace cleave::exported {

using Kind = Argument::Kind;

namespace {

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

Status GraphReader::read_call(const Node& node, const Graph& source, std::string name,
                              std::string_view overload) {
  const Call::Context at = context(source);
  Call call(node, b_, at);
  const bool is_complex = touches_complex(node, source);
  const bool views =
      is_complex ? is_complex_view(name) && !find_complex_rule(name, overload) : is_view(name);
  if (views && call.has_tensor("self")) return read_view(node, call, name, source, is_complex);
  CLEAVE_TRY(Values results,
             is_complex ? called_complex(call, name, overload) : called(call, name, overload));
  if (call.computes_in_f32()) round_results(call, results, source);
  return bind_results(node, results, source, call.is_sharing());
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
  const std::string self_name = call.find(written)->text;
  ValueId v = self;
  if (name != "detach") {
    CLEAVE_TRY(const Values results, touches_complex(node, source)
                                         ? called_complex(call, name, overload)
                                         : called(call, name, overload));
    CLEAVE_CHECK(b_.status());
    if (results.empty()) return unsupported("a write without a value");
    v = call.to(results[0], type.dtype);
    if (call.type(v).shape != type.shape) v = call.op("expand", {v}, {{"size", type.shape}});
    CLEAVE_CHECK(b_.status());
    if (v != self) CLEAVE_CHECK(write(self_name, v));
  } else if (paths_.reach(self)) {
    CLEAVE_TRY(names_[self_name], memories_.detached(b_, names_[self_name]));
    v = names_[self_name].value;
  }
  const std::vector<std::string> names = result_names(node);
  if (names.empty() || names[0].empty()) return {};
  names_[names[0]] = names_[self_name];
  set_name(v, names[0]);
  return check_type(names[0], v, source);
}

// add.out: the value that the operator gives without `out`, in the memory of that argument.
Status GraphReader::read_out(const Node& node, const Graph& source, const std::string& name,
                             std::string_view overload) {
  Node without = node;
  const auto out = std::ranges::find(without.inputs, "out", &NamedArgument::name);
  if (out == without.inputs.end() || out->value.kind != Kind::tensor)
    return unsupported("results in memory that is given");
  const std::string written = out->value.text;
  without.inputs.erase(out);
  const Call::Context at = context(source);
  Call call(without, b_, at);
  CLEAVE_TRY(const Values results, called(call, name, overload));
  CLEAVE_TRY(const ValueId old, value(written));
  const Type type = b_.type(old);
  if (results.size() != 1 || call.type(results[0]).shape != type.shape)
    return unsupported("a result that isn't of the size of its argument out: {}", type.text());
  const ValueId v = call.to(results[0], type.dtype);
  CLEAVE_CHECK(b_.status());
  CLEAVE_CHECK(write(written, v));
  const std::vector<std::string> names = result_names(node);
  if (names.empty() || names[0].empty()) return {};
  names_[names[0]] = names_[written];
  set_name(v, names[0]);
  return check_type(names[0], v, source);
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
  return call.direct(*op);
}

// Autocast leaves complex numbers as they are.
Result<Values> GraphReader::called_complex(Call& call, const std::string& name,
                                           std::string_view overload) {
  const Rule rule = find_complex_rule(name, overload);
  if (!rule) return unsupported("the operator {} of complex tensors is not covered", name);
  Values results = rule(call);
  CLEAVE_CHECK(b_.status());
  return results;
}

std::vector<Tensor> GraphReader::arguments_of(const Node& node) const {
  std::vector<Tensor> out;
  const auto note = [&](const Argument& a) {
    if (a.kind != Kind::tensor) return;
    if (const auto at = names_.find(a.text); at != names_.end()) out.push_back(at->second);
  };
  for (const NamedArgument& a : node.inputs) {
    note(a.value);
    std::ranges::for_each(a.value.items, note);
  }
  return out;
}

// A result that is an argument's value shares its memory: dropout that drops nothing.
Status GraphReader::bind_results(const Node& node, const Values& results, const Graph& source,
                                 bool is_sharing) {
  const std::vector<std::string> names = result_names(node);
  if (names.size() > results.size())
    return user_error("{} results of {}", names.size(), results.size());
  for (size_t k = 0; k < names.size(); ++k) {
    if (names[k].empty()) continue;
    const ValueId v = results[k];
    if (!v.valid()) {
      not_covered_.insert(names[k]);
      continue;
    }
    const Tensor* shared = nullptr;
    for (const NamedArgument& a : node.inputs)
      if (a.value.kind == Kind::tensor)
        if (const auto at = names_.find(a.value.text); at != names_.end() && at->second.value == v)
          shared = &at->second;
    const Tensor made = shared       ? *shared
                        : is_sharing ? memories_.copy_or_view(arguments_of(node), v)
                                     : memories_.add(v);
    names_[names[k]] = made;
    if (!shared) set_name(v, names[k]);
    CLEAVE_CHECK(check_type(names[k], v, source));
  }
  return {};
}

// Results of f32 in the narrow dtypes that the file gives them.
void GraphReader::round_results(Call& call, Values& results, const Graph& source) {
  const std::vector<std::string> names = result_names(call.node());
  for (size_t k = 0; k < std::min(names.size(), results.size()); ++k) {
    const auto at = source.tensors.find(names[k]);
    if (at == source.tensors.end() || call.type(results[k]).dtype != DType::f32) continue;
    const DType t = at->second.dtype;
    if (t == DType::f16 || t == DType::bf16) results[k] = call.to(results[k], t);
  }
}

bool GraphReader::is_read(const std::string& name, const Graph& source) {
  if (read_of_ != &source) {
    read_of_ = &source;
    read_.clear();
    for (const Node& n : source.nodes)
      for (const NamedArgument& a : n.inputs) collect_tensors(a.value, read_);
    for (const Argument& a : source.outputs) collect_tensors(a, read_);
  }
  return read_.contains(name);
}

// What is made has the type that the file says. Of what nothing reads PyTorch may not know better:
// 2.6 gives the states of an LSTM four dims.
Status GraphReader::check_type(const std::string& name, ValueId v, const Graph& source) {
  const auto at = source.tensors.find(name);
  if (at == source.tensors.end()) return user_error("{} has no type", printable(name));
  const TensorMeta& m = at->second;
  const Type& t = graph_.type(v);
  const bool same_dtype = m.dtype == t.dtype || (file_.ignores_autocast && file_.has_autocast &&
                                                 is_floating(m.dtype) && is_floating(t.dtype));
  const size_t rank = m.sizes.size() + (m.is_complex ? 1 : 0);
  bool same = m.foreign_dtype.empty() && same_dtype && rank == t.shape.size();
  if (same && m.is_complex) same = t.shape.back() == Dim(2);
  for (size_t k = 0; same && k < m.sizes.size(); ++k) {
    CLEAVE_TRY(const Dim size, dim_of(m.sizes[k]));
    same = graph_.env().equal(size, t.shape[k]) != SymEnv::Truth::no;
  }
  if (same || !is_read(name, source)) return {};
  CLEAVE_TRY(const Type wanted, type_of(m));
  return unsupported("it is {}, and {}{} in the file", t.text(),
                     m.is_complex ? "complex, in parts " : "", wanted.text());
}

}  // namespace cleave::exported
