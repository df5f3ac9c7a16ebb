#include "interp/graph_run.h"

#include "interp/array_memory.h"
#include "ir/specialize.h"
#include "ir/text.h"

namespace cleave {
namespace {

bool is_half(const Array& a) { return a.dtype == DType::bf16 || a.dtype == DType::f16; }

std::string text_of(const Array& a) {
  return Type(a.dtype, Shape(a.shape.begin(), a.shape.end())).text();
}

// Why `a` can't be a value of type t; empty if it can.
std::string mismatch(const Array& a, const Type& t) {
  if (a.dtype != t.dtype || a.shape != static_shape(t))
    return fmt::format("is {}, expected {}", text_of(a), t.text());
  if (a.numel() == numel_of(a.shape) && (a.floating() ? a.i.empty() : a.f.empty())) return "";
  return fmt::format("holds {} elements, expected those of {}", a.numel(), t.text());
}

std::vector<size_t> last_uses(const Graph& g, const std::vector<NodeId>& order) {
  std::vector<size_t> last(g.value_capacity(), 0);
  for (size_t k = 0; k < order.size(); ++k) {
    const Node& node = g.node(order[k]);
    for (uint32_t r = 0; r < node.output_count; ++r) last[node.out(r).v] = k;
    for (ValueId v : node.inputs)
      if (v.valid()) last[v.v] = k;
  }
  for (const Return& r : g.returns()) last[r.value.v] = order.size();
  return last;
}

// Collects the shapes and symint values of the inputs.
Result<SymbolValues> symbols_from(const Graph& g, std::span<const Array* const> inputs) {
  std::vector<std::optional<std::vector<int64_t>>> shapes(inputs.size());
  SymbolValues given;
  for (size_t i = 0; i < inputs.size(); ++i) {
    if (!inputs[i]) continue;
    shapes[i] = inputs[i]->shape;
    if (g.placeholders()[i].role != Role::symint) continue;
    const ValueId v = g.placeholders()[i].value;
    if (inputs[i]->dtype != DType::i64 || inputs[i]->i.size() != 1)
      return user_error("%{}: is {}, expected i64[]", g.name(v), text_of(*inputs[i]));
    given[g.name(v)] = inputs[i]->i[0];
  }
  return bind_symbols(g, shapes, given);
}

// The values of the placeholders of a static g; `symbols` holds those of its symints.
Result<std::vector<Array>> bound(const Graph& g, std::span<const Array* const> inputs,
                                 const SymbolValues& symbols) {
  std::vector<Array> values(g.value_capacity());
  for (size_t i = 0; i < inputs.size(); ++i) {
    const Placeholder& p = g.placeholders()[i];
    Array& value = values[p.value.v];
    if (p.role == Role::symint) {
      value = Array(DType::i64, {});
      value.i[0] = symbols.at(g.name(p.value));
      continue;
    }
    if (std::string why = mismatch(*inputs[i], g.type(p.value)); !why.empty())
      return user_error("%{}: {}", g.name(p.value), why);
    if (std::string why = conflict_in_memory(*inputs[i], g.type(p.value)); !why.empty())
      return user_error("%{}: {}; expected one value for both", g.name(p.value), why);
    value = *inputs[i];
    round_halves(value);
  }
  return values;
}

// By value: whether it or a view of it is returned.
std::vector<bool> leads_to_results(const Graph& g) {
  std::vector<bool> leads(g.value_capacity());
  for (const Return& r : g.returns()) leads[r.value.v] = true;
  for (NodeId n = g.last_node(); n.valid(); n = g.prev_node(n)) {
    const Node& node = g.node(n);
    bool any = false;
    for (uint32_t r = 0; r < node.output_count; ++r) any = any || leads[node.out(r).v];
    if (any && has(node.op->traits, Trait::view)) leads[node.inputs[0].v] = true;
  }
  return leads;
}

std::shared_ptr<const Graph> borrowed(const Graph& g) {
  return {std::shared_ptr<const Graph>(), &g};
}

}  // namespace

void round_halves(Array& a) {
  if (!is_half(a)) return;
  for (double& x : a.f) x = round_to(a.dtype, x);
}

GraphRun::GraphRun(std::shared_ptr<const Graph> g, std::vector<Array> values)
    : graph_(std::move(g)), order_(graph_->order()), last_use_(last_uses(*graph_, order_)),
      leads_to_results_(leads_to_results(*graph_)), values_(std::move(values)),
      computed_(values_.size()) {}

Result<GraphRun> GraphRun::start(const Graph& g, std::span<const Array* const> inputs) {
  const auto& placeholders = g.placeholders();
  if (inputs.size() != placeholders.size())
    return bug("interpret: {} inputs for {} placeholders", inputs.size(), placeholders.size());
  for (size_t i = 0; i < inputs.size(); ++i)
    if (!inputs[i] && placeholders[i].role != Role::symint)
      return user_error("%{}: no input is given for it", g.name(placeholders[i].value));
  CLEAVE_TRY(SymbolValues symbols, symbols_from(g, inputs));
  std::shared_ptr<const Graph> fixed = borrowed(g);
  if (!is_static(g)) {
    CLEAVE_TRY(Graph made, specialize(g, symbols));
    fixed = std::make_shared<const Graph>(std::move(made));
  }
  CLEAVE_TRY(std::vector<Array> values, bound(*fixed, inputs, symbols));
  return GraphRun(std::move(fixed), std::move(values));
}

Result<GraphRun> GraphRun::start_subgraph(const Graph& g, std::span<const Array* const> operands) {
  std::vector<Array> values(g.value_capacity());
  size_t next = 0;
  for (const Placeholder& p : g.placeholders()) {
    if (p.role == Role::symint) {
      values[p.value.v] = Array(DType::i64, {});
      values[p.value.v].i[0] = p.sym.range.lo;
      continue;
    }
    if (next == operands.size()) return bug("@{}: an operand is missing", g.name());
    const Array& operand = *operands[next++];
    if (std::string why = mismatch(operand, g.type(p.value)); !why.empty())
      return bug("@{}: %{}: {}", g.name(), g.name(p.value), why);
    values[p.value.v] = operand;
    round_halves(values[p.value.v]);
  }
  return GraphRun(borrowed(g), std::move(values));
}

std::vector<const Array*> GraphRun::operands(size_t k) const {
  const Node& node = graph_->node(order_[k]);
  const bool is_view = has(node.op->traits, Trait::view);  // passes on its operand unrounded
  std::vector<const Array*> out;
  for (ValueId v : node.inputs) {
    const bool unrounded = is_view && v.valid() && is_half(computed_[v.v]);
    out.push_back(!v.valid() ? nullptr : unrounded ? &computed_[v.v] : &values_[v.v]);
  }
  return out;
}

void GraphRun::store(size_t k, Arrays results) {
  const Node& node = graph_->node(order_[k]);
  for (uint32_t r = 0; r < node.output_count; ++r) {
    const uint32_t v = node.out(r).v;
    if (last_use_[v] <= k) continue;
    if (leads_to_results_[v] && is_half(results[r])) computed_[v] = results[r];
    round_halves(results[r]);
    values_[v] = std::move(results[r]);
  }
  for (ValueId v : node.inputs)
    if (v.valid() && last_use_[v.v] == k) values_[v.v] = computed_[v.v] = Array();
}

Arrays GraphRun::results(Results which) const {
  Arrays out;
  for (const Return& r : graph_->returns()) {
    const bool unrounded = which == Results::computed && is_half(computed_[r.value.v]);
    out.push_back(unrounded ? computed_[r.value.v] : values_[r.value.v]);
  }
  return out;
}

Result<std::vector<const Array*>> by_placeholder(const Graph& g,
                                                 const std::map<std::string, Array>& inputs) {
  std::vector<const Array*> out(g.placeholders().size());
  for (const auto& [name, array] : inputs) {
    const ValueId v = g.find(name);
    if (!v.valid() || !g.placeholder_of(v))
      return user_error("%{}: an input of that name is given, but the graph has none", name);
    out[g.value(v).index] = &array;
  }
  return out;
}

Failure at_line(const Graph& g, NodeId n, Failure f) {
  f.message += "\n  " + print_node(g, n);
  return f;
}

Result<Arrays> settled(const Graph& g, NodeId n, Result<Arrays> results) {
  if (!results.ok()) return at_line(g, n, std::move(results).failure());
  const Types types = g.output_types(n);
  const std::string& name = g.node(n).op->name;
  if (results->size() != types.size())
    return at_line(
        g, n,
        bug("{}: the reference gave {} results, expected {}", name, results->size(), types.size()));
  for (size_t k = 0; k < types.size(); ++k) {
    if (types[k].is_none) continue;
    if (std::string why = mismatch((*results)[k], types[k]); !why.empty())
      return at_line(g, n, bug("{}: result {} of the reference {}", name, k, why));
  }
  return results;
}

}  // namespace cleave
