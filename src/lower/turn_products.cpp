#include "lower/turn_products.h"

#include <unordered_set>

#include "ir/builder.h"
#include "ir/subgraph.h"

namespace cleave {
namespace {

using Returned = std::unordered_set<uint32_t>;

// The product that n alone reads, transposed; none.
NodeId turned_product(const Graph& g, NodeId n, const Returned& returned) {
  const Node& node = g.node(n);
  if (node.op->name != "permute") return {};
  const ValueId v = node.inputs[0];
  const NodeId product = g.value(v).def;
  if (!product.valid() || g.use_count(v) != 1 || returned.contains(v.v)) return {};
  const std::string& name = g.node(product).op->name;
  const std::vector<int64_t> dims = g.view(n).ints_attr("dims");
  const bool swaps = name == "mm"    ? dims == std::vector<int64_t>{1, 0}
                     : name == "bmm" ? dims == std::vector<int64_t>{0, 2, 1}
                                     : false;
  return swaps ? product : NodeId{};
}

Result<bool> turn_in(Graph& g, const OpRegistry& ops, int64_t& turned) {
  bool changed = false;
  Returned returned;
  for (const Return& r : g.returns()) returned.insert(r.value.v);
  for (const NodeId n : g.order()) {
    const NodeId product = turned_product(g, n, returned);
    if (!product.valid()) continue;
    const Node& node = g.node(product);
    const std::vector<int64_t> dims = g.view(n).ints_attr("dims");
    Builder b(g, ops);
    b.insert_before(product);
    b.set_loc(node.loc);
    b.set_tag(node.tag);
    const ValueId left = b.permute(node.inputs[1], dims), right = b.permute(node.inputs[0], dims);
    const ValueId made = b.call1(node.op->name, {left, right});
    CLEAVE_CHECK(b.status());
    const std::string name = g.name(g.node(n).out(0));
    g.replace_uses(g.node(n).out(0), made);
    g.erase(n);
    g.erase(product);
    CLEAVE_CHECK(g.rename(made, name));
    changed = true;
    ++turned;
  }
  return changed;
}

}  // namespace

Result<int64_t> turn_products(Graph& graph, const OpRegistry& ops) {
  int64_t turned = 0;
  const Result<bool> changed = turn_in(graph, ops, turned);
  if (!changed.ok()) return Failure(changed.failure());
  CLEAVE_CHECK(rewrite_subgraphs(graph, [&](Graph& sub) { return turn_in(sub, ops, turned); }));
  return turned;
}

}  // namespace cleave
