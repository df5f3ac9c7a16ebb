// Merges equal sizes into one value.
//
//   sym_size(x; dim), known          ->  full(size=[], fill_value=n)
//   sym_size(x; dim) = s0            ->  %s0, if that is a placeholder
//   sym_size(x; 0), sym_size(y; 1)   ->  one call, if both are the same expression of symbols
//
// Also sym_numel; only sizes on the CPU, where symints are. A size depends on no element, so the
// value that it is read from need not be computed.
#include <unordered_map>

#include "op/dims.h"
#include "pass/passes.h"

namespace cleave {
namespace {

// Returns the size that the call computes, or none.
std::optional<Dim> size_of_call(const Graph& g, NodeId n) {
  const std::string& name = g.node(n).op->name;
  if (name != "sym_size" && name != "sym_numel") return std::nullopt;
  const OpView call = g.view(n);
  const Type& x = call.in_type(0);
  if (name == "sym_numel") return x.numel();
  return x.shape[static_cast<size_t>(from_front(call.int_attr("dim"), x.rank()))];
}

Result<PassCount> run(Graph& g, const OpRegistry& ops) {
  PassCount count;
  std::unordered_map<std::string, ValueId> values;  // by the text of the expression
  for (const Placeholder& p : g.placeholders())
    if (p.role == Role::symint) values.emplace(g.name(p.value), p.value);
  for (const NodeId n : g.order()) {
    const std::optional<Dim> size = size_of_call(g, n);
    if (!size) continue;
    const ValueId old = g.node(n).out(0);
    if (g.type(old).device != Device()) continue;
    ValueId same;
    if (size->is_const()) {
      Builder b(g, ops);
      b.insert_before(n);
      b.set_loc(g.node(n).loc);
      b.set_tag(g.node(n).tag);
      same = b.full({}, *size, DType::i64);
      CLEAVE_CHECK(b.status());
    } else {
      const auto [it, is_first] = values.try_emplace(size->text(), old);
      const NodeId def = g.value(it->second).def;
      if (is_first || (def.valid() && !(g.node(def).tag == g.node(n).tag))) continue;
      same = it->second;
    }
    g.replace_uses(old, same);
    ++count.matches;
    ++count.nodes;
  }
  return count;
}

}  // namespace

Pass merge_sizes() {
  return {.name = "merge_sizes", .summary = "equal sizes are one value", .run = run};
}

}  // namespace cleave
