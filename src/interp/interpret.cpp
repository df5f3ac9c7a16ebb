#include "interp/interpret.h"

#include "ir/specialize.h"
#include "ir/text.h"

namespace cleave {
namespace {

void round_stored(Array& a) {
  if (a.dtype == DType::bf16 || a.dtype == DType::f16)
    for (double& x : a.f) x = round_to(a.dtype, x);
}

std::string text_of(const Array& a) {
  return Type(a.dtype, Shape(a.shape.begin(), a.shape.end())).text();
}

// Why `a` can't be a value of type t; empty when it can.
std::string mismatch(const Array& a, const Type& t) {
  if (a.dtype != t.dtype || a.shape != static_shape(t))
    return fmt::format("is {}, expected {}", text_of(a), t.text());
  if (a.numel() == numel_of(a.shape) && (a.floating() ? a.i.empty() : a.f.empty())) return "";
  return fmt::format("holds {} elements, expected those of {}", a.numel(), t.text());
}

// Where the last use of each value is: a position in the order of nodes, the end for a result.
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

Result<Arrays> run_static(const Graph& g, std::vector<Array> values) {
  const std::vector<NodeId> order = g.order();
  const std::vector<size_t> last = last_uses(g, order);
  for (size_t k = 0; k < order.size(); ++k) {
    const Node& node = g.node(order[k]);
    std::vector<const Array*> operands;
    for (ValueId v : node.inputs) operands.push_back(v.valid() ? &values[v.v] : nullptr);
    CLEAVE_TRY(Arrays results, run_node(g, order[k], operands));
    for (uint32_t r = 0; r < node.output_count; ++r)
      if (last[node.out(r).v] > k) values[node.out(r).v] = std::move(results[r]);
    for (ValueId v : node.inputs)
      if (v.valid() && last[v.v] == k) values[v.v] = Array();
  }
  Arrays out;
  for (const Return& r : g.returns()) out.push_back(values[r.value.v]);
  return out;
}

// A subgraph, static as its caller is: a symint's range is its value.
Result<Arrays> run_subgraph(const Graph& g, std::span<const Array* const> operands) {
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
  }
  return run_static(g, std::move(values));
}

// Shapes and symint values among the inputs.
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

// g is static; the values of its symints are in `symbols`.
Result<Arrays> run_with(const Graph& g, std::span<const Array* const> inputs,
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
    value = *inputs[i];
    round_stored(value);
  }
  return run_static(g, std::move(values));
}

constexpr int64_t most_elements = int64_t{1} << 36;  // half a TiB: no machine that this runs on

}  // namespace

Result<Arrays> run_node(const Graph& g, NodeId n, std::span<const Array* const> operands) {
  const Node& node = g.node(n);
  const auto at_line = [&](Failure f) {
    f.message += "\n  " + print_node(g, n);
    return f;
  };
  if (!node.op->reference.present())
    return at_line(
        unsupported("{}: has no reference rule: {}", node.op->name, node.op->reference.reason()));
  const Types types = g.output_types(n);
  for (const Type& t : types)
    if (!t.is_none && t.is_static() && numel_of(static_shape(t)) > most_elements)
      return at_line(
          user_error("{}: a result is {}: more than 2^36 elements, expected fewer for "
                     "the reference engine",
                     node.op->name, t.text()));
  auto results = (*node.op->reference)(RunView(g.view(n), run_subgraph), operands);
  if (!results.ok()) return at_line(std::move(results).failure());
  if (results->size() != types.size())
    return at_line(bug("{}: the reference gave {} results, expected {}", node.op->name,
                       results->size(), types.size()));
  for (size_t k = 0; k < types.size(); ++k) {
    if (types[k].is_none) continue;
    if (std::string why = mismatch((*results)[k], types[k]); !why.empty())
      return at_line(bug("{}: result {} of the reference {}", node.op->name, k, why));
    round_stored((*results)[k]);
  }
  return results;
}

Result<Arrays> interpret(const Graph& g, std::span<const Array* const> inputs) {
  const auto& placeholders = g.placeholders();
  if (inputs.size() != placeholders.size())
    return bug("interpret: {} inputs for {} placeholders", inputs.size(), placeholders.size());
  for (size_t i = 0; i < inputs.size(); ++i)
    if (!inputs[i] && placeholders[i].role != Role::symint)
      return user_error("%{}: no input is given for it", g.name(placeholders[i].value));
  CLEAVE_TRY(SymbolValues symbols, symbols_from(g, inputs));
  if (is_static(g)) return run_with(g, inputs, symbols);
  CLEAVE_TRY(Graph fixed, specialize(g, symbols));
  return run_with(fixed, inputs, symbols);
}

Result<Arrays> interpret(const Graph& g, const std::map<std::string, Array>& inputs) {
  std::vector<const Array*> by_placeholder(g.placeholders().size());
  for (const auto& [name, array] : inputs) {
    const ValueId v = g.find(name);
    if (!v.valid() || !g.placeholder_of(v))
      return user_error("%{}: an input of that name is given, but the graph has none", name);
    by_placeholder[g.value(v).index] = &array;
  }
  return interpret(g, by_placeholder);
}

}  // namespace cleave
