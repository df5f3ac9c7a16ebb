// Higher-order operators: regions that are inlined, branches and loops that become subgraphs.
#include "base/printable.h"
#include "import/exported/graph_reader.h"
#include "import/exported/plain_name.h"

namespace cleave::exported {

using Kind = Argument::Kind;

namespace {

std::vector<Argument> positional(const Node& node, size_t first) {
  std::vector<Argument> out;
  for (size_t k = first; k < node.inputs.size(); ++k) out.push_back(node.inputs[k].value);
  return out;
}

// The subgraphs' placeholders bind the caller's symints by name.
Status declare_symints(const cleave::Graph& from, cleave::Graph& to) {
  for (const Placeholder& p : from.placeholders())
    if (p.role == Role::symint)
      CLEAVE_CHECK([&]() -> Status {
        CLEAVE_TRY(
            [[maybe_unused]] const ValueId v,
            to.add_placeholder(Role::symint, from.name(p.value), from.type(p.value), false, p.sym));
        return {};
      }());
  return {};
}

}  // namespace

Result<const Argument*> argument(const Node& node, size_t k, Kind kind) {
  if (k >= node.inputs.size() || node.inputs[k].value.kind != kind)
    return user_error("its argument {} is not of the kind that is expected", k);
  return &node.inputs[k].value;
}

Status GraphReader::read_higher_order(const Node& node, const std::string& name,
                                      const Graph& source) {
  if (name == "cond") return read_cond(node, source);
  if (name == "while_loop") return read_loop(node, source);
  if (name == "scan" || name == "map_impl") return read_scan(node, name == "scan", source);
  if (name == "wrap_with_set_grad_enabled") {
    CLEAVE_TRY(const Argument* const on, argument(node, 0, Kind::boolean));
    CLEAVE_TRY(const Argument* const body, argument(node, 1, Kind::graph));
    const Gradients outer = memories_.gradients();
    if (outer == Gradients::stopped && on->number != 0)
      return unsupported("gradients that are enabled in a region that stops them");
    memories_.set_gradients(on->number != 0 ? Gradients::kept : Gradients::stopped);
    const Status s = inline_region(node, *body, positional(node, 2), source);
    memories_.set_gradients(outer);
    return s;
  }
  if (name == "wrap_with_autocast") {
    CLEAVE_TRY(const Argument* const body, argument(node, 4, Kind::graph));
    CLEAVE_TRY(const Argument* const on, argument(node, 2, Kind::boolean));
    const std::optional<DType> outer = autocast_;
    autocast_.reset();
    if (on->number != 0) {
      file_.has_autocast = true;
      const Argument& given = node.inputs[1].value;
      autocast_ = given.kind == Kind::dtype ? dtype_of_code(given.number) : DType::bf16;
      if (!autocast_) return unsupported("autocast to a dtype that cleave doesn't have");
    }
    const Status s = inline_region(node, *body, positional(node, 5), source);
    autocast_ = outer;
    return s;
  }
  if (name == "tag_activation_checkpoint" || name == "invoke_subgraph") {
    CLEAVE_TRY(const Argument* const body, argument(node, 0, Kind::graph));
    const size_t first = name == "invoke_subgraph" ? 2 : 1;
    return inline_region(node, *body, positional(node, first), source);
  }
  return unsupported("the operator {} is not covered", printable(name));
}

// The region's nodes, in the place of the call. What is stopped gives no gradient behind it.
Status GraphReader::inline_region(const Node& node, const Argument& body,
                                  const std::vector<Argument>& operands, const Graph& source) {
  const Graph& inner = *body.graph;
  std::vector<Argument> given;
  for (const Argument& a : operands) {
    if (a.kind == Kind::list)
      given.insert(given.end(), a.items.begin(), a.items.end());
    else
      given.push_back(a);
  }
  if (given.size() != inner.inputs.size())
    return user_error("{} operands of a region with {} inputs", given.size(), inner.inputs.size());
  Names names;
  std::set<size_t> operand_ids;
  const size_t first_memory = memories_.count();
  for (size_t k = 0; k < given.size(); ++k) {
    if (inner.inputs[k].kind != Kind::tensor) continue;
    if (given[k].kind != Kind::tensor) return unsupported("an operand that is no tensor");
    CLEAVE_TRY(Tensor* const t, find(given[k].text));
    names[inner.inputs[k].text] = *t;
    operand_ids.insert(t->id);
  }
  std::swap(names, names_);
  const Status s = read_nodes(inner);
  std::vector<Tensor> results;
  Status found = s;
  for (size_t k = 0; found.ok() && k < inner.outputs.size(); ++k) {
    results.emplace_back();
    if (inner.outputs[k].kind != Kind::tensor) continue;
    const Result<Tensor*> t = find(inner.outputs[k].text);
    if (t.ok())
      results.back() = **t;
    else
      found = Status(t.failure());
  }
  std::swap(names, names_);
  CLEAVE_CHECK(std::move(found));
  std::vector<Argument> outputs;
  for (const Argument& a : node.outputs) {
    if (a.kind == Kind::list)
      outputs.insert(outputs.end(), a.items.begin(), a.items.end());
    else
      outputs.push_back(a);
  }
  if (outputs.size() > results.size())
    return user_error("{} results of a region with {}", outputs.size(), results.size());
  for (size_t k = 0; k < outputs.size(); ++k) {
    if (outputs[k].kind != Kind::tensor) continue;
    if (inner.outputs[k].kind != Kind::tensor) return unsupported("a result that is no tensor");
    Tensor t = results[k];
    CLEAVE_TRY(ValueId v, memories_.read(b_, t));
    const bool is_stopped = memories_.gradients() == Gradients::stopped;
    if (is_stopped && is_floating(graph_.type(v).dtype) && !operand_ids.contains(t.id)) {
      CLEAVE_TRY(t, memories_.out_of_region(b_, t, first_memory));
      v = t.value;
    }
    names_[outputs[k].text] = t;
    CLEAVE_CHECK(check_type(outputs[k].text, v, source));
  }
  return {};
}

Result<std::vector<ValueId>> GraphReader::operands_of(const std::vector<Argument>& list) {
  std::vector<ValueId> out;
  for (const Argument& a : list) {
    if (a.kind != Kind::tensor) return unsupported("an operand that is no tensor");
    CLEAVE_TRY(const ValueId v, value(a.text));
    out.push_back(v);
  }
  return out;
}

Result<cleave::Graph> GraphReader::read_body(const Argument& body,
                                             const std::vector<ValueId>& operands) {
  const Graph& inner = *body.graph;
  if (inner.inputs.size() != operands.size())
    return user_error("{} operands of a graph with {} inputs", operands.size(),
                      inner.inputs.size());
  const std::string name = plain_name(body.text);
  std::string unique = name;
  for (int k = 1; !file_.graph_names.insert(unique).second; ++k)
    unique = fmt::format("{}.{}", name, k);
  cleave::Graph g(unique);
  CLEAVE_CHECK(declare_symints(graph_, g));
  GraphReader reader(file_, g, true);
  for (size_t k = 0; k < operands.size(); ++k) {
    if (inner.inputs[k].kind != Kind::tensor) return unsupported("an input that is no tensor");
    Type t = graph_.type(operands[k]);
    t.strides.reset();
    CLEAVE_TRY(const ValueId v,
               g.add_placeholder(Role::input, g.fresh_name(plain_name(inner.inputs[k].text)), t));
    reader.bind(inner.inputs[k].text, v);
  }
  reader.autocast_ = autocast_;
  CLEAVE_CHECK(reader.read(inner));
  for (const Argument& a : inner.inputs) {
    CLEAVE_TRY(const ValueId v, reader.written(a.text));
    if (v.valid()) return unsupported("a branch or a loop that writes its operands");
  }
  for (const Argument& a : inner.outputs) {
    if (a.kind != Kind::tensor)
      return unsupported("a result of a branch or a loop that is no tensor");
    CLEAVE_TRY(const ValueId v, reader.result(a));
    g.add_return({v});
  }
  return g;
}

Result<GraphRef> GraphReader::read_subgraph(const Argument& body,
                                            const std::vector<ValueId>& operands) {
  CLEAVE_TRY(cleave::Graph g, read_body(body, operands));
  GraphRef made = std::make_shared<const cleave::Graph>(std::move(g));
  file_.subgraphs.push_back(made);
  return made;
}

Status GraphReader::read_cond(const Node& node, const Graph& source) {
  CLEAVE_TRY(const Argument* const pred, argument(node, 0, Kind::tensor));
  CLEAVE_TRY(const Argument* const then, argument(node, 1, Kind::graph));
  CLEAVE_TRY(const Argument* const otherwise, argument(node, 2, Kind::graph));
  CLEAVE_TRY(const Argument* const list, argument(node, 3, Kind::list));
  CLEAVE_TRY(ValueId chosen, value(pred->text));
  CLEAVE_TRY(const std::vector<ValueId> operands, operands_of(list->items));
  CLEAVE_TRY(GraphRef first, read_subgraph(*then, operands));
  CLEAVE_TRY(GraphRef second, read_subgraph(*otherwise, operands));
  if (graph_.type(chosen).rank() > 0) chosen = b_.view(chosen, {});
  const Values results = b_.call("cond", {chosen, CallOperand(operands)},
                                 {{"then", AttrValue(first)}, {"otherwise", AttrValue(second)}});
  CLEAVE_CHECK(b_.status());
  return bind_results(node, results, source);
}

Status GraphReader::read_loop(const Node& node, const Graph& source) {
  CLEAVE_TRY(const Argument* const condition, argument(node, 0, Kind::graph));
  CLEAVE_TRY(const Argument* const body, argument(node, 1, Kind::graph));
  CLEAVE_TRY(const Argument* const carried, argument(node, 2, Kind::list));
  CLEAVE_TRY(const Argument* const others, argument(node, 3, Kind::list));
  CLEAVE_TRY(std::vector<ValueId> operands, operands_of(carried->items));
  CLEAVE_TRY(const std::vector<ValueId> more, operands_of(others->items));
  operands.insert(operands.end(), more.begin(), more.end());
  CLEAVE_TRY(GraphRef below, read_subgraph(*condition, operands));
  CLEAVE_TRY(GraphRef next, read_subgraph(*body, operands));
  const Values results = b_.call("while_loop", {CallOperand(operands)},
                                 {{"condition", AttrValue(below)}, {"body", AttrValue(next)}});
  CLEAVE_CHECK(b_.status());
  return bind_results(node, results, source);
}

}  // namespace cleave::exported
