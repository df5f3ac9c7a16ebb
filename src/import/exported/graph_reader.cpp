#include "import/exported/graph_reader.h"

#include "base/printable.h"
#include "import/exported/expression.h"
#include "import/exported/plain_name.h"

namespace cleave::exported {

using Kind = Argument::Kind;

namespace {

std::string where(const Node& node) {
  const std::vector<std::string> names = result_names(node);
  std::string text = names.empty() || names[0].empty() ? "" : printable(names[0]) + " = ";
  text += node.target.starts_with("torch.ops.") ? node.target.substr(10) : node.target;
  return node.file.empty() ? text : fmt::format("{} at {}:{}", text, node.file, node.line);
}

}  // namespace

GraphReader::GraphReader(FileContext& file, cleave::Graph& graph, bool is_subgraph)
    : file_(file), graph_(graph), b_(graph, file.ops), paths_(graph, is_subgraph),
      memories_(paths_), is_subgraph_(is_subgraph) {}

void GraphReader::bind(const std::string& name, ValueId placeholder) {
  names_[name] = memories_.add(placeholder);
  placeholders_[name] = names_[name].memory;
}

Status GraphReader::read(const Graph& source) { return read_nodes(source); }

Result<Tensor*> GraphReader::find(const std::string& name) {
  const auto at = names_.find(name);
  if (at != names_.end()) return &at->second;
  if (not_covered_.contains(name))
    return unsupported("the result {} of its operator is not covered", printable(name));
  return user_error("{} is read before it is made", printable(name));
}

Result<ValueId> GraphReader::value(const std::string& name) {
  CLEAVE_TRY(Tensor* const t, find(name));
  return memories_.read(b_, *t);
}

Result<ValueId> GraphReader::written(const std::string& name) const {
  const auto at = placeholders_.find(name);
  if (at == placeholders_.end()) return ValueId::none();
  return memories_.written(at->second);
}

Result<AttrValue> GraphReader::symbol(const std::string& name, const Graph& source) {
  if (items_.contains(name))
    return unsupported(
        "the value of item() as an attribute; keep the tensor of one element, or give the number "
        "as an input");
  const auto at = source.symbols.find(name);
  if (at == source.symbols.end()) return user_error("the size {} has no value", printable(name));
  CLEAVE_TRY(Dim d, dim_of(at->second));
  return AttrValue(std::move(d));
}

// item(): the tensor stands for the number where it is an operand. No gradient goes through it.
Status GraphReader::note_item(const Node& node) {
  const std::string name = parse_target(node.target).name;
  if ((name != "item" && name != "_local_scalar_dense") || node.outputs.size() != 1) return {};
  if (node.inputs.empty() || node.inputs[0].value.kind != Kind::tensor) return {};
  const Result<ValueId> given = value(node.inputs[0].value.text);
  if (!given.ok()) return {};
  ValueId v = *given;
  if (graph_.type(v).rank() > 0) v = b_.view(v, {});
  if (is_floating(graph_.type(v).dtype)) v = b_.call1("detach", {v});
  items_[node.outputs[0].text] = v;
  return b_.status();
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
          [this] { return draw(); },
          [this] { return file_.next_stream++; },
          [this](const std::string& name, ValueId v) { return write(name, v); },
          [&source](const std::string& name) {
            const auto at = source.tensors.find(name);
            return at == source.tensors.end() ? nullptr : &at->second;
          },
          [this](const std::string& symbol) {
            const auto at = items_.find(symbol);
            return at == items_.end() ? ValueId::none() : at->second;
          }};
}

Status GraphReader::write(const std::string& name, ValueId value) {
  CLEAVE_TRY(Tensor* const t, find(name));
  return memories_.write(b_, *t, value);
}

Status GraphReader::read_nodes(const Graph& source) {
  for (const Node& node : source.nodes) {
    if (is_about_sizes(node)) {
      CLEAVE_CHECK(note_item(node));
      continue;
    }
    if (checks_value(node) || checks_factor(node)) {
      Status s = note_check(node);
      if (!s.ok()) return std::move(s).failure().within(where(node));
      continue;
    }
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
  if (writes_out(t)) return read_out(node, source, t.name, t.overload);
  return read_call(node, source, t.name, t.overload);
}

Result<ValueId> GraphReader::result(const Argument& a) {
  if (a.kind != Kind::tensor) return ValueId::none();
  CLEAVE_TRY(const ValueId v, value(a.text));
  return behind_checks(v);
}

}  // namespace cleave::exported
