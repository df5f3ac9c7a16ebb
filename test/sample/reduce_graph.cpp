#include "test/sample/reduce_graph.h"

#include "interp/interpret.h"
#include "ir/edit.h"

namespace cleave::random {
namespace {

// Each value of r by the oracle, with the inputs as they are.
Result<std::vector<Array>> values_of(const RandomGraph& r) {
  std::vector<Array> values(r.g.value_capacity());
  for (size_t i = 0; i < r.inputs.size(); ++i) values[r.g.placeholders()[i].value.v] = r.inputs[i];
  for (NodeId n = r.g.first_node(); n.valid(); n = r.g.next_node(n)) {
    std::vector<const Array*> operands;
    for (ValueId v : r.g.node(n).inputs) operands.push_back(v.valid() ? &values[v.v] : nullptr);
    CLEAVE_TRY(Arrays results, run_node(r.g, n, operands));
    for (uint32_t k = 0; k < r.g.node(n).output_count; ++k)
      values[r.g.node(n).out(k).v] = std::move(results[k]);
  }
  return values;
}

// Removes calls and placeholders that no return needs.
void tidy(RandomGraph& r) {
  eliminate_dead_code(r.g);
  std::vector<bool> needed(r.g.value_capacity());
  for (const Return& x : r.g.returns()) {
    needed[x.value.v] = true;
    if (x.target.valid()) needed[x.target.v] = true;
  }
  Arrays kept;
  const auto keep = [&](const Placeholder& p) {
    return needed[p.value.v] || r.g.use_count(p.value) > 0;
  };
  for (size_t i = 0; i < r.inputs.size(); ++i)
    if (keep(r.g.placeholders()[i])) kept.push_back(std::move(r.inputs[i]));
  r.g.filter_placeholders(keep);
  r.inputs = std::move(kept);
}

// Each return alone, then each one left out.
bool drop_returns(RandomGraph& r, const Fails& fails) {
  const std::vector<Return> all = r.g.returns();
  if (all.size() < 2) return false;
  const auto attempt = [&](std::vector<Return> some) {
    RandomGraph smaller = r;
    smaller.g.set_returns(std::move(some));
    tidy(smaller);
    if (!fails(smaller)) return false;
    r = std::move(smaller);
    return true;
  };
  for (const Return& one : all)
    if (attempt({one})) return true;
  for (size_t k = 0; k < all.size(); ++k) {
    std::vector<Return> some = all;
    some.erase(some.begin() + static_cast<std::ptrdiff_t>(k));
    if (attempt(std::move(some))) return true;
  }
  return false;
}

// The results of the first node that is wrong in place of the returns that it makes wrong.
bool return_earlier(RandomGraph& r, const Fails& fails) {
  for (NodeId n : r.g.order()) {
    if (n == r.g.last_node()) return false;
    RandomGraph smaller = r;
    std::vector<Return> results;
    for (uint32_t k = 0; k < r.g.node(n).output_count; ++k)
      if (!r.g.type(r.g.node(n).out(k)).is_none)
        results.push_back({r.g.node(n).out(k), ReturnKind::result, {}});
    smaller.g.set_returns(std::move(results));
    tidy(smaller);
    if (smaller.g.node_count() >= r.g.node_count() || !fails(smaller)) continue;
    r = std::move(smaller);
    return true;
  }
  return false;
}

// Replaces the results of `nodes` by inputs with their values.
bool cut_at(RandomGraph& r, const std::vector<NodeId>& nodes, const std::vector<Array>& values,
            const Fails& fails) {
  RandomGraph smaller = r;
  for (NodeId n : nodes)
    for (uint32_t k = 0; k < r.g.node(n).output_count; ++k) {
      const ValueId v = r.g.node(n).out(k);
      if (r.g.type(v).is_none) continue;
      auto input = smaller.g.add_placeholder(Role::input, smaller.g.fresh_name("cut"), r.g.type(v));
      if (!input.ok()) return false;
      smaller.g.replace_uses(v, *input);
      smaller.inputs.push_back(values[v.v]);
      for (double& x : smaller.inputs.back().f) x = round_to(r.g.type(v).dtype, x);
    }
  tidy(smaller);
  if (smaller.g.node_count() >= r.g.node_count() || !fails(smaller)) return false;
  r = std::move(smaller);
  return true;
}

// Tangents as inputs and gradients as results, so that any of them can go alone.
RandomGraph without_roles(RandomGraph r) {
  for (size_t i = 0; i < r.g.placeholders().size(); ++i) {
    Placeholder& p = r.g.placeholder(i);
    if (p.role == Role::tangent) p.role = Role::input;
    p.wants_grad = false;
  }
  std::vector<Return> returns = r.g.returns();
  for (Return& x : returns) x = {x.value, ReturnKind::result, {}};
  r.g.set_returns(std::move(returns));
  return r;
}

}  // namespace

RandomGraph reduced(RandomGraph r, const Fails& fails) {
  if (RandomGraph plain = without_roles(r); fails(plain)) r = std::move(plain);
  tidy(r);
  while (drop_returns(r, fails)) {}
  for (bool smaller = true; smaller;) {
    smaller = false;
    auto values = values_of(r);
    if (!values.ok()) return r;
    // Halves, quarters, ... of the nodes, then each one.
    const std::vector<NodeId> order = r.g.order();
    for (size_t part = order.size() / 2; part > 0 && !smaller; part /= 2)
      for (size_t at = 0; at < order.size() && !smaller; at += part)
        smaller =
            cut_at(r,
                   {order.begin() + static_cast<std::ptrdiff_t>(at),
                    order.begin() + static_cast<std::ptrdiff_t>(std::min(order.size(), at + part))},
                   *values, fails);
    if (!smaller) smaller = return_earlier(r, fails);
    while (smaller && drop_returns(r, fails)) {}
  }
  return r;
}

}  // namespace cleave::random
