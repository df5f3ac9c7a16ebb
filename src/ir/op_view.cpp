#include "ir/op_view.h"

namespace cleave {

OpView::OpView(const OpDef& def, std::vector<ValueId> inputs, std::vector<const Type*> types,
               uint32_t list_size, const Attrs& attrs, const SymEnv& env,
               std::vector<const Type*> out_types)
    : def_(&def), inputs_(std::move(inputs)), types_(std::move(types)), list_size_(list_size),
      attrs_(&attrs), env_(&env), out_types_(std::move(out_types)) {}

RunView::RunView(OpView call, RunGraph run) : OpView(std::move(call)), run_(run) {}

GradView::GradView(OpView call, Values outs, Values douts, std::vector<bool> needs)
    : OpView(std::move(call)), outs_(std::move(outs)), douts_(std::move(douts)),
      needs_(std::move(needs)) {}

Values GradView::no_grads() const { return Values(inputs().size()); }

int OpView::flat(int operand) const {
  int list = def_->schema.list_operand;
  if (list < 0 || operand <= list) return operand;
  return operand - 1 + static_cast<int>(list_size_);
}

const AttrValue& OpView::number(int operand) const {
  return *attrs_->find(def_->schema.operands[operand]);
}

const AttrValue& OpView::attr(std::string_view name) const {
  int i = def_->schema.find(name);
  if (i < 0) throw_bug("{} has no attribute '{}'", this->name(), name);
  const AttrValue* v = attrs_->find(static_cast<uint16_t>(i));
  return v ? *v : def_->schema.args[i].default_value;
}

bool OpView::given(std::string_view name) const { return !attr(name).is_none(); }

int64_t OpView::int_attr(std::string_view name) const {
  const Dim* d = attr(name).get<Dim>();
  return d && d->is_const() ? d->value() : 0;
}

Dim OpView::dim_attr(std::string_view name) const {
  const Dim* d = attr(name).get<Dim>();
  return d ? *d : Dim();
}

bool OpView::bool_attr(std::string_view name) const {
  const bool* b = attr(name).get<bool>();
  return b && *b;
}

double OpView::float_attr(std::string_view name) const { return attr(name).as_double(); }

const std::string& OpView::str_attr(std::string_view name) const {
  const std::string* s = attr(name).get<std::string>();
  if (!s) throw_bug("{}: attribute '{}' is no string", this->name(), name);
  return *s;
}

std::vector<Dim> OpView::dims_attr(std::string_view name) const {
  std::vector<Dim> out;
  if (const AttrList* list = attr(name).get<AttrList>())
    for (const AttrValue& v : *list) out.push_back(v.get<Dim>() ? *v.get<Dim>() : Dim());
  return out;
}

std::vector<int64_t> OpView::ints_attr(std::string_view name) const {
  std::vector<int64_t> out;
  for (const Dim& d : dims_attr(name)) out.push_back(d.is_const() ? d.value() : 0);
  return out;
}

std::optional<DType> OpView::dtype_attr(std::string_view name) const {
  const DType* t = attr(name).get<DType>();
  return t ? std::optional<DType>(*t) : std::nullopt;
}

GraphRef OpView::graph_attr(std::string_view name) const {
  const GraphRef* g = attr(name).get<GraphRef>();
  return g ? *g : nullptr;
}

Result<Arrays> RunView::run(const Graph& g, std::span<const Array* const> operands) const {
  if (run_ == nullptr)
    return bug("{}: its reference runs a subgraph, but was called without a runner", name());
  return run_(g, operands);
}

Result<GraphMemo*> GradView::memo() const {
  if (memo_ == nullptr)
    return bug("{}: its gradient differentiates a subgraph, but was called without the sweep",
               name());
  return memo_;
}

Result<Values> GradView::differentiate(Graph& g, const OpRegistry& ops, const Values& outputs,
                                       const Values& cotangents, const Values& wrt) const {
  CLEAVE_TRY(GraphMemo * known, memo());
  return differentiate_(g, ops, outputs, cotangents, wrt, *known);
}

}  // namespace cleave
