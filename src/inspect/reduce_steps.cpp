#include "inspect/reduce_steps.h"

#include <algorithm>
#include <set>

#include "ir/edit.h"
#include "ir/subgraph.h"

namespace cleave {
namespace {

// The symbols that sizes and attributes mention.
std::set<std::string> symbols_of(const Graph& g, const std::vector<bool>& needed) {
  std::vector<std::string> found;
  const auto add = [&](const Type& type) {
    for (const Dim& d : type.shape) d.collect_symbols(found);
    if (type.strides)
      for (const Dim& d : *type.strides) d.collect_symbols(found);
  };
  for (const Placeholder& p : g.placeholders())
    if (needed[p.value.v]) add(g.type(p.value));
  for (NodeId n = g.first_node(); n.valid(); n = g.next_node(n)) {
    for (uint32_t k = 0; k < g.node(n).output_count; ++k) add(g.type(g.node(n).out(k)));
    for (const auto& [arg, value] : g.node(n).attrs.given()) collect_symbols(value, found);
  }
  return {found.begin(), found.end()};
}

// By value: read by a call, returned, updated or differentiated.
std::vector<bool> needed_values(const Graph& g) {
  std::vector<bool> needed(g.value_capacity());
  for (const Return& x : g.returns()) {
    needed[x.value.v] = true;
    if (x.target.valid()) needed[x.target.v] = true;
  }
  for (const Placeholder& p : g.placeholders())
    if (g.use_count(p.value) > 0) needed[p.value.v] = true;
  return needed;
}

// Keeps the placeholders for which `keep`, by number, is true.
void filter_inputs(GivenGraph& given, const std::vector<bool>& keep) {
  Arrays kept;
  for (size_t k = 0; k < given.inputs.size(); ++k)
    if (keep[k]) kept.push_back(std::move(given.inputs[k]));
  given.inputs = std::move(kept);
  size_t at = 0;
  given.g.filter_placeholders([&](const Placeholder&) { return keep[at++]; });
}

// Puts an input in the place of each result of the calls that others read, and of all if they are
// the last. Whether all of them could be.
bool add_inputs(GivenGraph& to, const GivenGraph& from, std::span<const NodeId> calls,
                const NamedValues& values, bool are_last, std::map<ValueId, ValueId>& made) {
  std::vector<bool> inside(from.g.node_capacity());
  for (const NodeId n : calls) inside[n.v] = true;
  const bool wants_grad = std::ranges::any_of(from.g.placeholders(), &Placeholder::wants_grad);
  for (const NodeId n : calls)
    for (uint32_t k = 0; k < from.g.node(n).output_count; ++k) {
      const ValueId v = from.g.node(n).out(k);
      const Type& type = from.g.type(v);
      const auto is_outside = [&](const Use& use) { return !inside[use.node.v]; };
      const auto returns_it = [&](const Return& r) { return r.value == v; };
      if (type.is_none || !(std::ranges::any_of(from.g.uses(v), is_outside) ||
                            (are_last && std::ranges::any_of(from.g.returns(), returns_it))))
        continue;
      if (has_inputs(from)) {
        const auto value = values.find(from.g.name(v));
        if (value == values.end()) return false;
        to.inputs.push_back(value->second);
      }
      Result<ValueId> input = to.g.add_placeholder(Role::input, to.g.fresh_name("cut"), type,
                                                   wants_grad && is_floating(type.dtype));
      if (!input.ok()) return false;
      to.g.replace_uses(v, *input);
      made[v] = *input;
    }
  return true;
}

// Erases the calls, and gives their names to the inputs that hold their results.
bool erase_calls(GivenGraph& to, const GivenGraph& from, std::span<const NodeId> calls,
                 const std::map<ValueId, ValueId>& made) {
  for (size_t k = calls.size(); k-- > 0;) to.g.erase(calls[k]);
  return std::ranges::all_of(
      made, [&](const auto& m) { return to.g.rename(m.second, from.g.name(m.first)).ok(); });
}

std::optional<GivenGraph> without_calls(const GivenGraph& from, std::span<const NodeId> calls,
                                        const NamedValues& values, bool returns_operands) {
  const Graph& g = from.g;
  std::vector<bool> inside(g.value_capacity());
  for (const NodeId n : calls)
    for (uint32_t k = 0; k < g.node(n).output_count; ++k) inside[g.node(n).out(k).v] = true;
  std::vector<Return> others;
  std::set<ValueId> returned;
  for (const Return& r : g.returns())
    if (!inside[r.value.v]) {
      others.push_back(r);
      returned.insert(r.value);
    }
  if (returns_operands) {
    const size_t before = others.size();
    for (const NodeId n : calls)
      for (const ValueId v : g.node(n).inputs)
        if (v.valid() && !inside[v.v] && g.value(v).def.valid() && returned.insert(v).second)
          others.push_back({v, ReturnKind::result, {}});
    if (others.size() == before) return std::nullopt;  // the other form is this one
  }
  GivenGraph to = from;
  const bool are_last = others.empty();
  if (!are_last) to.g.set_returns(std::move(others));
  std::map<ValueId, ValueId> made;
  if (!add_inputs(to, from, calls, values, are_last, made)) return std::nullopt;
  if (!erase_calls(to, from, calls, made)) return std::nullopt;
  return to;
}

}  // namespace

void tidy(GivenGraph& given) {
  eliminate_dead_code(given.g);
  const std::vector<bool> needed = needed_values(given.g);
  const std::set<std::string> symbols = symbols_of(given.g, needed);
  std::vector<bool> keep;
  for (const Placeholder& p : given.g.placeholders())
    keep.push_back(needed[p.value.v] ||
                   (p.role == Role::symint && symbols.contains(given.g.name(p.value))));
  if (std::ranges::find(keep, false) != keep.end()) filter_inputs(given, keep);
}

std::optional<GivenGraph> without_returns(const GivenGraph& from, size_t begin, size_t end) {
  std::vector<Return> some = from.g.returns();
  if (end - begin >= some.size()) return std::nullopt;
  some.erase(some.begin() + static_cast<std::ptrdiff_t>(begin),
             some.begin() + static_cast<std::ptrdiff_t>(end));
  GivenGraph to = from;
  to.g.set_returns(std::move(some));
  return to;
}

std::optional<GivenGraph> calls_as_inputs(const GivenGraph& from, std::span<const NodeId> calls,
                                          const NamedValues& values) {
  return without_calls(from, calls, values, false);
}

std::optional<GivenGraph> calls_cut_out(const GivenGraph& from, std::span<const NodeId> calls,
                                        const NamedValues& values) {
  return without_calls(from, calls, values, true);
}

std::optional<GivenGraph> call_bypassed(const GivenGraph& from, NodeId call, uint32_t result,
                                        size_t operand) {
  const Node& node = from.g.node(call);
  const ValueId v = node.out(result), other = node.inputs[operand];
  if (!other.valid() || from.g.type(v) != from.g.type(other)) return std::nullopt;
  for (uint32_t k = 0; k < node.output_count; ++k)
    if (k != result && from.g.use_count(node.out(k)) > 0) return std::nullopt;
  GivenGraph to = from;
  std::vector<Return> returns;
  for (Return r : from.g.returns()) {
    if (from.g.value(r.value).def == call && r.value != v) continue;
    if (r.value == v) r.value = other;
    if (std::ranges::find(returns, r) == returns.end()) returns.push_back(r);
  }
  to.g.set_returns(std::move(returns));
  to.g.replace_uses(v, other);
  to.g.erase(call);
  return to;
}

std::optional<GivenGraph> without_input(const GivenGraph& from, size_t input) {
  const Placeholder& p = from.g.placeholders()[input];
  const std::vector<bool> needed = needed_values(from.g);
  if (needed[p.value.v]) return std::nullopt;
  if (p.role == Role::symint && symbols_of(from.g, needed).contains(from.g.name(p.value)))
    return std::nullopt;
  GivenGraph to = from;
  std::vector<bool> keep(from.g.placeholders().size(), true);
  keep[input] = false;
  filter_inputs(to, keep);
  return to;
}

namespace {

bool may_be_input(const Placeholder& p) {
  return p.role != Role::input && p.role != Role::symint && p.role != Role::rng_state;
}

}  // namespace

std::optional<GivenGraph> as_input(const GivenGraph& from, size_t k) {
  if (!may_be_input(from.g.placeholders()[k])) return std::nullopt;
  GivenGraph to = from;
  to.g.placeholder(k).role = Role::input;
  return to;
}

std::optional<GivenGraph> without_mark(const GivenGraph& from, size_t k) {
  if (!from.g.placeholders()[k].wants_grad) return std::nullopt;
  GivenGraph to = from;
  to.g.placeholder(k).wants_grad = false;
  return to;
}

GivenGraph without_roles(const GivenGraph& from) {
  GivenGraph to = from;
  for (size_t k = 0; k < to.g.placeholders().size(); ++k) {
    if (may_be_input(to.g.placeholders()[k])) to.g.placeholder(k).role = Role::input;
    to.g.placeholder(k).wants_grad = false;
  }
  std::vector<Return> returns = to.g.returns();
  for (Return& x : returns) x = {x.value, ReturnKind::result, {}};
  to.g.set_returns(std::move(returns));
  for (NodeId n = to.g.first_node(); n.valid(); n = to.g.next_node(n)) to.g.set_tag(n, {});
  return to;
}

std::optional<GivenGraph> with_fixed_sizes(const GivenGraph& from) {
  if (is_static(from.g)) return std::nullopt;
  Result<Graph> fixed = specialize(from.g, from.symbols);
  if (!fixed.ok()) return std::nullopt;
  return GivenGraph{*std::move(fixed), from.inputs, {}};
}

}  // namespace cleave
