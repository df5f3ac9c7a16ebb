// Building and querying graphs; edits are in graph_edit.cpp.
#include "ir/graph.h"

#include <algorithm>
#include <unordered_set>

#include "ir/infer_types.h"

namespace cleave {

Graph::Graph(std::string name) : name_(std::move(name)) { files_.push_back(""); }
Graph::Graph(const Graph&) = default;
Graph::Graph(Graph&&) noexcept = default;
Graph& Graph::operator=(const Graph&) = default;
Graph& Graph::operator=(Graph&&) noexcept = default;
Graph::~Graph() = default;

std::string_view name_of(Role r) {
  constexpr std::string_view names[] = {"param",   "buffer", "const",     "input",
                                        "tangent", "saved",  "rng_state", "symint"};
  return names[static_cast<int>(r)];
}

namespace {

Status check_symbols(const Type& t, const SymEnv& env) {
  std::vector<std::string> symbols;
  for (const Dim& d : t.shape) d.collect_symbols(symbols);
  if (t.strides)
    for (const Dim& d : *t.strides) d.collect_symbols(symbols);
  for (const std::string& s : symbols)
    if (!env.find(s))
      return user_error("size '{}' in {} is not declared; add `%{}: symint` before it", s, t.text(),
                        s);
  return {};
}

}  // namespace

Result<ValueId> Graph::add_placeholder(Role role, const std::string& name, Type type,
                                       bool wants_grad, SymInfo sym) {
  if (find(name).valid()) return user_error("the name %{} is taken already", name);
  if (role == Role::symint) {
    type = Type(DType::i64, {});
    env_.declare(name, sym);
  }
  CLEAVE_CHECK(check_type_limits(type));
  CLEAVE_CHECK(check_symbols(type, env_));
  ValueId v = add_value(name, std::move(type), {}, static_cast<uint32_t>(placeholders_.size()));
  placeholders_.push_back({role, v, wants_grad, sym});
  return v;
}

const Placeholder* Graph::placeholder_of(ValueId v) const {
  const ValueInfo& info = values_[v.v];
  const bool is_one = !info.def.valid() && info.index < placeholders_.size() &&
                      placeholders_[info.index].value == v;
  return is_one ? &placeholders_[info.index] : nullptr;
}

ValueId Graph::add_value(std::string name, Type type, NodeId def, uint32_t index) {
  ++edits_;
  ValueId v{static_cast<uint32_t>(values_.size())};
  for (const Dim& d : type.shape) env_.note_size(d);
  by_name_.insert(name, v.v);
  ValueInfo info;
  info.name = std::move(name);
  info.type = std::move(type);
  info.def = def;
  info.index = index;
  values_.push_back(std::move(info));
  return v;
}

std::string Graph::fresh_name(const std::string& stem) {
  if (!find(stem).valid()) return stem;
  uint32_t& suffix = next_suffix_[stem];
  std::string name;
  do name = fmt::format("{}_{}", stem, ++suffix);
  while (find(name).valid());
  return name;
}

namespace {

// Converts attributes to canonical form and drops defaults.
Status check_attrs(NodeSpec& spec) {
  const Schema& schema = spec.op->schema;
  for (size_t i = 0; i < spec.attrs.given().size();) {
    const auto& [index, value] = spec.attrs.given()[i];
    const ArgDef& arg = schema.args[index];
    if (!is_canonical_attr(arg, value)) {
      auto checked = checked_attr(arg, value);
      if (!checked.ok()) return std::move(checked).failure().within(spec.op->name);
      spec.attrs.set(index, *std::move(checked));
    }
    if (!arg.is_operand() && arg.has_default && value == arg.default_value)
      spec.attrs.erase(index);
    else
      ++i;
  }
  return {};
}

// Checks operands and attributes against the schema.
Status check_call(const Graph& g, NodeSpec& spec) {
  const Schema& schema = spec.op->schema;
  auto fail = [&](Failure f) { return Status(std::move(f).within(spec.op->name)); };
  size_t expected = schema.operands.size() + (schema.list_operand >= 0 ? spec.list_size : 1) - 1;
  if (schema.list_operand < 0) expected = schema.operands.size();
  if (spec.inputs.size() != expected)
    return fail(user_error("{} operands, expected {}", spec.inputs.size(), expected));
  size_t flat = 0;
  for (size_t k = 0; k < schema.operands.size(); ++k) {
    const ArgDef& arg = schema.args[schema.operands[k]];
    const size_t items = arg.list ? spec.list_size : 1;
    for (size_t i = 0; i < items; ++i, ++flat) {
      ValueId v = spec.inputs[flat];
      if (v.valid() && v.v >= g.value_capacity())
        return fail(bug("operand {} is no value", arg.name));
      if (v.valid() && g.type(v).is_none)
        return fail(user_error("operand {} is an unused result of type none", arg.name));
      if (v.is_none() && !(arg.list ? arg.optional_item : arg.optional))
        return fail(user_error("operand {} is missing", arg.name));
      if (v.is_number() && (!arg.number_allowed || !spec.attrs.find(schema.operands[k])))
        return fail(user_error("operand {} must be a tensor", arg.name));
      if (!v.is_number() && arg.number_allowed && spec.attrs.find(schema.operands[k]))
        return fail(user_error("operand {} is given, and a number for it", arg.name));
    }
  }
  CLEAVE_CHECK(check_attrs(spec));
  for (uint16_t index : schema.attrs)
    if (!schema.args[index].has_default && !spec.attrs.find(index))
      return fail(user_error("attribute {} is missing", schema.args[index].name));
  return {};
}

}  // namespace

Result<Types> Graph::infer(const NodeSpec& spec) {
  ++infer_count_;
  std::vector<const Type*> types;
  types.reserve(spec.inputs.size());
  for (ValueId v : spec.inputs) types.push_back(v.valid() ? &values_[v.v].type : nullptr);
  OpView view(*spec.op, spec.inputs, std::move(types), spec.list_size, spec.attrs, env_);
  auto result = infer_types(view);
  if (!result.ok()) return result;
  for (Type& t : *result) {
    t.strides.reset();  // lowering chooses the layout, whatever the operands' is
    if (Status s = check_type_limits(t); !s.ok())
      return std::move(s).failure().within(spec.op->name);
  }
  if (spec.op->schema.results >= 0 &&
      result->size() != static_cast<size_t>(spec.op->schema.results))
    return bug("{}: infer gave {} results, the signature has {}", spec.op->name, result->size(),
               spec.op->schema.results);
  return result;
}

Status Graph::check_names(const std::vector<std::string>& names) const {
  std::unordered_set<std::string_view> before;
  for (const std::string& name : names)
    if (find(name).valid() || (names.size() > 1 && !before.insert(name).second))
      return user_error("the name %{} is taken already", name);
  return {};
}

Result<NodeId> Graph::take_node(NodeSpec& spec) {
  CLEAVE_CHECK(check_call(*this, spec));
  CLEAVE_TRY(Types types, infer(spec));
  if (spec.names.size() > types.size())
    return user_error("{}: {} names for {} results", spec.op->name, spec.names.size(),
                      types.size());
  CLEAVE_CHECK(check_names(spec.names));

  NodeId id{static_cast<uint32_t>(nodes_.size())};
  Node node;
  node.op = spec.op;
  node.inputs = std::move(spec.inputs);
  node.list_size = spec.list_size;
  node.attrs = std::move(spec.attrs);
  node.loc = spec.loc;
  node.tag = spec.tag;
  node.first_output = {static_cast<uint32_t>(values_.size())};
  node.output_count = static_cast<uint32_t>(types.size());
  node.links.resize(node.inputs.size());
  nodes_.push_back(std::move(node));
  for (size_t k = 0; k < types.size(); ++k) {
    std::string name = k < spec.names.size() ? std::move(spec.names[k])
                       : types.size() == 1   ? fresh_name(spec.op->name)
                                             : fresh_name(fmt::format("{}_{}", spec.op->name, k));
    add_value(std::move(name), std::move(types[k]), id, static_cast<uint32_t>(k));
  }
  insert_before(id, spec.before);
  note_edit(id);
  for (uint32_t i = 0; i < nodes_[id.v].inputs.size(); ++i) link_use(id, i);
  ++live_nodes_;
  return id;
}

OpView Graph::view(NodeId n) const {
  const Node& node = nodes_[n.v];
  std::vector<const Type*> types;
  types.reserve(node.inputs.size());
  for (ValueId v : node.inputs) types.push_back(v.valid() ? &values_[v.v].type : nullptr);
  std::vector<const Type*> out_types;
  for (uint32_t k = 0; k < node.output_count; ++k)
    out_types.push_back(&values_[node.out(k).v].type);
  return OpView(*node.op, node.inputs, std::move(types), node.list_size, node.attrs, env_,
                std::move(out_types));
}

Types Graph::output_types(NodeId n) const {
  Types out;
  for (uint32_t k = 0; k < nodes_[n.v].output_count; ++k) out.push_back(type(nodes_[n.v].out(k)));
  return out;
}

std::vector<NodeId> Graph::order() const {
  std::vector<NodeId> out;
  out.reserve(live_nodes_);
  for (NodeId n = head_; n.valid(); n = nodes_[n.v].next) out.push_back(n);
  return out;
}

ValueId Graph::find(std::string_view name) const {
  return {by_name_.find(name, [&](uint32_t v) -> std::string_view { return values_[v].name; })};
}

bool Graph::is_joint() const {
  return std::any_of(placeholders_.begin(), placeholders_.end(),
                     [](const Placeholder& p) { return p.role == Role::tangent; }) ||
         std::any_of(returns_.begin(), returns_.end(),
                     [](const Return& r) { return r.kind == ReturnKind::grad; });
}

uint32_t Graph::file_id(const std::string& file) {
  if (file.empty()) return 0;
  auto [it, added] = by_file_.emplace(file, static_cast<uint32_t>(files_.size()));
  if (added) files_.push_back(file);
  return it->second;
}

std::string Graph::loc_text(SourceLoc loc) const {
  return loc.file == 0 ? "" : fmt::format("{}:{}", files_[loc.file], loc.line);
}

Result<NodeId> Graph::add_node(NodeSpec spec) { return take_node(spec); }

void Graph::set_attr(NodeId n, uint16_t arg, AttrValue value) {
  note_edit(n);
  nodes_[n.v].attrs.set(arg, std::move(value));
}

void Graph::set_strides(ValueId v, std::optional<std::vector<Dim>> strides) {
  note_edit(values_[v.v].def);
  values_[v.v].type.strides = std::move(strides);
}

void Graph::set_returns(std::vector<Return> r) {
  ++edits_;
  returns_ = std::move(r);
}

void Graph::add_return(Return r) {
  ++edits_;
  returns_.push_back(r);
}

}  // namespace cleave
