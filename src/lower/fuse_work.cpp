#include "lower/fuse_work.h"

#include <algorithm>
#include <functional>

#include "loop/lower_rule.h"
#include "schedule/read_recorder.h"

namespace cleave {

using namespace cleave::loop;

namespace {

// Of a call without the functions that it shares.
constexpr int64_t shared_flops = 4;
// Those that a rule makes itself have numbers behind those of the elements.
constexpr int64_t own_variables = int64_t{1} << 40;

// Loads are variables, the same ones for the same element.
class ElementRecorder final : public KernelBuilder {
 public:
  ElementRecorder(const Graph& graph, NodeId n, KernelSheet& sheet,
                  std::map<IndexKey, Expr>& elements, std::vector<Bound> operands,
                  std::vector<Bound> results)
      : KernelBuilder(sheet, std::move(operands), std::move(results)), graph_(graph), node_(n),
        elements_(elements) {}

  Expr load(int flat, const Exprs& index) override {
    const ValueId v = graph_.node(node_).inputs[static_cast<size_t>(flat)];
    Exprs at = index;
    for (size_t d = 0; d < at.size(); ++d)
      if (operand(flat).layout.shape[d] == 1) at[d] = Expr(0);
    Expr& x = elements_[index_key(v, std::move(at))];
    if (!x.defined())
      x = make_var(static_cast<int64_t>(elements_.size()), "x", compute_type(operand(flat).dtype));
    return x;
  }

 private:
  const Graph& graph_;
  NodeId node_;
  std::map<IndexKey, Expr>& elements_;
};

bool is_function(Op op) { return op >= Op::exp && op <= Op::sigmoid && op != Op::sqrt; }

void collect(const Expr& e, std::unordered_set<const ExprNode*>& seen,
             std::unordered_set<Expr>& out) {
  if (!seen.insert(&*e).second) return;
  if (is_function(e->op)) out.insert(e);
  for (const Expr& a : e->args) collect(a, seen, out);
}

}  // namespace

SharedFunctions::SharedFunctions(const Graph& graph, const std::vector<NodeId>& nodes)
    : graph_(graph) {
  std::vector<std::pair<NodeId, Functions>> calls;
  for (const NodeId n : nodes) calls.emplace_back(n, functions_of(n));
  // A call with more functions is no dearer for one that needs some of them.
  std::ranges::stable_sort(calls, std::ranges::greater(),
                           [](const auto& call) { return call.second.size(); });
  for (const auto& [n, functions] : calls) {
    const OpView op = graph.view(n);
    if (!op.def().cost.present()) continue;
    const int64_t flops = (*op.def().cost)(op).flops;
    bool is_shared = !functions.empty();
    for (const Expr& f : functions) is_shared &= !known_.insert(f).second;
    flops_ +=
        is_shared ? std::min(flops, shared_flops * numel_of(static_shape(op.out_type(0)))) : flops;
  }
}

bool SharedFunctions::are_known(NodeId n) {
  const Functions functions = functions_of(n);
  return !functions.empty() &&
         std::ranges::all_of(functions, [&](const Expr& f) { return known_.contains(f); });
}

SharedFunctions::Functions SharedFunctions::functions_of(NodeId n) {
  const OpView op = graph_.view(n);
  const auto* rule =
      op.def().lower.present() ? std::get_if<ElementwiseRule>(&(*op.def().lower)->form) : nullptr;
  if (!rule || has(op.def().traits, Trait::random)) return {};
  Kernel nothing;
  KernelSheet sheet(nothing);
  Exprs index;
  for (size_t d = 0; d < op.out_type(0).shape.size(); ++d)
    index.push_back(make_var(-1 - static_cast<int64_t>(d), "d", DType::i64));
  sheet.next_var = own_variables;
  std::vector<Bound> operands, results;
  for (const ValueId v : graph_.node(n).inputs) operands.push_back(shape_bound(graph_, v));
  for (uint32_t k = 0; k < graph_.node(n).output_count; ++k)
    results.push_back(shape_bound(graph_, graph_.node(n).out(k)));
  ElementRecorder recorder(graph_, n, sheet, elements_, std::move(operands), std::move(results));
  Functions out;
  std::unordered_set<const ExprNode*> seen;
  for (const Expr& e : rule->value(recorder, op, index)) collect(e, seen, out);
  return out;
}

int64_t most_elements(const FuseCalls& calls, const FuseGroups& groups, int32_t group) {
  int64_t out = 0;
  for (const NodeId n : groups.all[group].nodes) out = std::max(out, calls[n].elements);
  return out;
}

int64_t work_of(const Graph& g, const FuseCalls& calls, const FuseGroups& groups,
                const FuseCosts& costs, FuseKnown& known) {
  int64_t bytes = 0, flops = 0;
  for (size_t i = 0; i < groups.all.size(); ++i) {
    const auto group = static_cast<int32_t>(i);
    if (groups.all[i].merged_into >= 0 || !groups.is_fusible(calls, group)) continue;
    const FuseBody body = body_of(g, calls, groups, group);
    const int64_t most = most_elements(calls, groups, group);
    for (const ValueId v : body.operands)
      bytes += std::min(bytes_of(g, v), most * size_of(g.type(v).dtype));
    for (const ValueId v : body.results) bytes += bytes_of(g, v);
    std::optional<int64_t>& own = known.of(g, body).flops;
    if (!own) own = SharedFunctions(g, body.nodes).flops();
    flops += *own + costs.launch_flops;
  }
  return flops + bytes * costs.flops_of_8_bytes / 8;
}

}  // namespace cleave
