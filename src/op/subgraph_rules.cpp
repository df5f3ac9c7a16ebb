#include "op/subgraph_rules.h"

#include <map>

#include "ir/subgraph.h"
#include "loop/lower_rule.h"

namespace cleave {
namespace {

Status check_symbols(const OpView& op, const char* attr, const Graph& g) {
  for (const Placeholder& p : g.placeholders()) {
    if (p.role != Role::symint) continue;
    const std::string& name = g.name(p.value);
    const SymInfo* outer = op.env().find(name);
    if (outer == nullptr)
      return op.broken("C5", "{} has the symint {}, which the caller doesn't have", attr, name);
    const DimRange r = p.sym.range, o = outer->range;
    if (o.lo < r.lo || o.hi > r.hi)
      return op.broken("C5", "the symint {} is in [{}, {}], {} expects [{}, {}]", name, o.lo, o.hi,
                       attr, r.lo, r.hi);
  }
  return {};
}

}  // namespace

bool is_same_type(const OpView& op, const Type& a, const Type& b) {
  if (a.is_none || b.is_none || a.dtype != b.dtype || !(a.device == b.device) ||
      a.rank() != b.rank())
    return false;
  for (size_t d = 0; d < a.shape.size(); ++d)
    if (!op.env().provably_equal(a.shape[d], b.shape[d])) return false;
  return true;
}

bool is_flag(const OpView& op, const Type& t) {
  return !t.is_none && t.dtype == DType::boolean && op.env().provably_equal(t.numel(), Dim(1));
}

std::vector<const Type*> list_types(const OpView& op) {
  std::vector<const Type*> out;
  for (int k = 0; k < op.list_size(); ++k) out.push_back(&op.list_type(k));
  return out;
}

Status check_subgraph(const OpView& op, const char* attr, std::span<const Type* const> operands,
                      SubgraphStrides strides) {
  const GraphRef g = op.graph_attr(attr);
  if (g == nullptr) return op.broken("C2", "{} refers to no graph", attr);
  const Values parameters = parameters_of(*g);
  if (parameters.size() != operands.size())
    return op.broken("C2", "{} takes {} operands, got {}", attr, parameters.size(),
                     operands.size());
  CLEAVE_CHECK(check_symbols(op, attr, *g));
  for (size_t k = 0; k < parameters.size(); ++k) {
    const Type& wanted = g->type(parameters[k]);
    const bool lies = strides == SubgraphStrides::any || !wanted.strides;
    if (!lies || !is_same_type(op, wanted, *operands[k]))
      return op.broken("C3", "%{} of {} is {}, its operand {}", g->name(parameters[k]), attr,
                       wanted.text(), operands[k]->text());
  }
  if (g->returns().empty()) return op.broken("C4", "{} returns nothing", attr);
  for (const Return& r : g->returns()) {
    if (r.kind != ReturnKind::result)
      return op.broken("C4", "{} updates or differentiates %{}, expected results alone", attr,
                       g->name(r.target));
    if (g->type(r.value).is_none)
      return op.broken("C4", "{} returns an unused result of type none", attr);
  }
  return {};
}

namespace {

// A graph that is referred to twice is counted twice, but visited once.
struct CostSum {
  std::map<const Graph*, Cost> known = {};

  Cost of(const Graph& g) {
    if (const auto at = known.find(&g); at != known.end()) return at->second;
    Cost sum;
    for (NodeId n = g.first_node(); n.valid(); n = g.next_node(n)) add(sum, of(g, n));
    return known[&g] = sum;
  }

  Cost of(const Graph& g, NodeId n) {
    const Node& node = g.node(n);
    Cost sum, most;
    bool any = false;
    for (const auto& [arg, value] : node.attrs.given()) {
      const GraphRef* sub = value.get<GraphRef>();
      if (!sub || !*sub) continue;
      any = true;
      const Cost inside = of(**sub);
      add(sum, inside);
      if (inside.flops >= most.flops) most = inside;
    }
    if (any) {
      const bool one_of_them = node.op->lower.present() &&
                               std::holds_alternative<loop::BranchRule>((*node.op->lower)->form);
      return one_of_them ? most : sum;
    }
    return node.op->cost.present() ? (*node.op->cost)(g.view(n)) : Cost{};
  }

  static void add(Cost& sum, const Cost& more) {
    const auto plus = [](int64_t a, int64_t b) {  // saturates: sums of nested graphs may explode
      constexpr int64_t most = int64_t{1} << 62;
      return a > most - b ? most : a + b;
    };
    sum.flops = plus(sum.flops, more.flops);
    sum.bytes = plus(sum.bytes, more.bytes);
  }
};

}  // namespace

Cost cost_of_graph(const Graph& g) { return CostSum().of(g); }

std::string graph_text(const std::string& placeholders, const std::vector<std::string>& calls,
                       const std::string& results) {
  std::string text = fmt::format("graph @g({}) {{\n", placeholders);
  for (const std::string& call : calls) text += "  " + call + "\n";
  return text + "  return " + results + "\n}\n";
}

}  // namespace cleave
