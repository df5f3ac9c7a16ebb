// The reverse sweep.
//
//   1. forward   active(v): v is floating, and a path of differentiable results leads from some
//                wrt value to v
//   2. backward  from the last node that feeds an output to the first: when a node is reached,
//                every user of its results has contributed its part, so the sums are complete; its
//                grad rule turns them into parts of the operands' gradients
//
//   sums         parts are added in the order in which they arrive (outputs in their order, then
//                nodes from last to first, operands from first to last), so the graph fixes the
//                order of floating additions
//
// A node's gradient nodes get its source line and its checkpoint tag. The finished gradient of
// value %v is named %grad.v if that name is free.
#include <algorithm>

#include "grad/grad.h"
#include "ir/edit.h"
#include "ir/graph_memo.h"
#include "ir/subgraph.h"
#include "ir/text.h"

namespace cleave {
namespace {

Result<Values> differentiate_subgraph(Graph& g, const OpRegistry& ops, const Values& outputs,
                                      const Values& cotangents, const Values& wrt, GraphMemo& memo);

// Of y = f(a, b) with b = g(a): `total` follows b to a, `partial` holds b fixed.
enum class Derivative { total, partial };

class Sweep {
 public:
  Sweep(Graph& g, const OpRegistry& ops, const GradRequest& request, Derivative kind,
        GraphMemo& memo)
      : g_(g), b_(g, ops), request_(request), kind_(kind), memo_(memo), order_(g.order()),
        first_new_(g.value_capacity()), active_(first_new_), wrt_(first_new_), sum_(first_new_) {}

  Result<Values> run() {
    CLEAVE_CHECK(check_request());
    mark_active();
    for (size_t k = 0; k < request_.outputs.size(); ++k)
      if (request_.cotangents[k].valid())
        CLEAVE_CHECK(add_part(request_.outputs[k], request_.cotangents[k]));
    for (size_t k = order_.size(); k-- > 0;) CLEAVE_CHECK(visit(order_[k]));
    Values out;
    for (ValueId v : request_.wrt) {
      finish(v);
      out.push_back(sum_[v.v]);
    }
    CLEAVE_CHECK(b_.status());
    return out;
  }

 private:
  Status check_request() const {
    if (request_.outputs.size() != request_.cotangents.size())
      return bug("add_gradients: {} outputs, {} cotangents", request_.outputs.size(),
                 request_.cotangents.size());
    for (size_t k = 0; k < request_.outputs.size(); ++k) {
      const ValueId out = request_.outputs[k], d = request_.cotangents[k];
      if (d.valid() && !same_type(g_.type(out), g_.type(d)))
        return user_error("the cotangent %{} is {}, expected the type of %{}: {}", g_.name(d),
                          g_.type(d).text(), g_.name(out), g_.type(out).text());
    }
    for (ValueId v : request_.wrt)
      if (!is_floating(g_.type(v).dtype))
        return user_error("%{} is {}: only floating values have a gradient", g_.name(v),
                          g_.type(v).text());
    return {};
  }

  bool same_type(const Type& a, const Type& b) const {
    if (a.dtype != b.dtype || a.rank() != b.rank()) return false;
    for (size_t d = 0; d < a.shape.size(); ++d)
      if (!g_.env().provably_equal(a.shape[d], b.shape[d])) return false;
    return true;
  }

  bool is_active(ValueId v) const { return v.valid() && active_[v.v]; }

  void mark_active() {
    for (ValueId v : request_.wrt) active_[v.v] = wrt_[v.v] = true;
    for (NodeId n : order_) {
      const Node& node = g_.node(n);
      const bool reached = std::any_of(node.inputs.begin(), node.inputs.end(),
                                       [&](ValueId v) { return is_active(v); });
      if (!reached) continue;
      for (uint32_t k = 0; k < node.output_count; ++k) {
        const Type& t = g_.type(node.out(k));
        const bool cut = k < 32 && (node.op->nondifferentiable >> k & 1) != 0;
        if (!t.is_none && is_floating(t.dtype) && !cut) active_[node.out(k).v] = true;
      }
    }
  }

  // Whether the gradient of v goes on to what v is computed from.
  bool passes_on(ValueId v) const {
    return is_active(v) && !(kind_ == Derivative::partial && wrt_[v.v]);
  }

  // Adds one part to the gradient of v.
  Status add_part(ValueId v, ValueId part) {
    if (!is_active(v)) return {};
    ValueId& sum = sum_[v.v];
    sum = sum.valid() ? b_.add(sum, part) : part;
    return b_.status();
  }

  // The sum of v is complete: names it after v, if this sweep made it and hasn't named it yet.
  void finish(ValueId v) {
    const ValueId sum = sum_[v.v];
    if (!sum.valid() || sum.v < first_new_ || g_.placeholder_of(sum)) return;
    if (sum.v < named_.size() && named_[sum.v]) return;
    if (!g_.rename(sum, g_.fresh_name("grad." + g_.name(v))).ok()) return;
    named_.resize(g_.value_capacity());
    named_[sum.v] = true;
  }

  Status visit(NodeId n) {
    const Node& node = g_.node(n);
    Values outs, douts;
    bool any = false;
    for (uint32_t k = 0; k < node.output_count; ++k) {
      const ValueId out = node.out(k);
      if (passes_on(out)) finish(out);
      outs.push_back(out);
      douts.push_back(passes_on(out) ? sum_[out.v] : ValueId::none());
      any = any || douts.back().valid();
    }
    std::vector<bool> needs;
    for (ValueId v : node.inputs) needs.push_back(is_active(v));
    if (!any || std::none_of(needs.begin(), needs.end(), [](bool b) { return b; })) return {};
    if (!node.op->grad.present())
      return unsupported(
          "{}: has no gradient: {}{}\n  {}", node.op->name, node.op->grad.reason(),
          node.op->file.empty()
              ? ""
              : fmt::format("; its rule belongs into its entry in {}", node.op->file),
          print_node(g_, n));
    b_.set_loc(node.loc);
    b_.set_tag(node.tag);
    GradView view(g_.view(n), outs, douts, needs);
    view.set_differentiate(differentiate_subgraph, memo_);
    const Values parts = (*node.op->grad)(b_, view);
    if (!b_.status().ok()) {
      Failure f = b_.status().failure();
      f.message =
          fmt::format("gradient of {}: {}\n  {}", node.op->name, f.message, print_node(g_, n));
      return f;
    }
    return take(n, parts, needs);
  }

  // Adds the parts that a rule returned to the operands' gradients.
  Status take(NodeId n, const Values& parts, const std::vector<bool>& needs) {
    const Node& node = g_.node(n);
    if (parts.size() != needs.size())
      return bug("gradient of {}: {} values for {} operands", node.op->name, parts.size(),
                 needs.size());
    for (size_t i = 0; i < parts.size(); ++i) {
      if (!needs[i] || !parts[i].valid()) continue;
      // If operands have several floating dtypes, a rule may compute in one of them.
      const Type want = g_.type(node.inputs[i]), got = g_.type(parts[i]);
      const bool is_of_another =
          got.dtype != want.dtype && is_floating(want.dtype) && is_floating(got.dtype) &&
          std::ranges::any_of(
              node.inputs, [&](ValueId v) { return v.valid() && g_.type(v).dtype == got.dtype; });
      const ValueId part = is_of_another ? b_.convert(parts[i], want.dtype) : parts[i];
      CLEAVE_CHECK(b_.status());
      if (!same_type(g_.type(part), want))
        return bug("gradient of {}: operand {} gets {}, expected its type {}\n  {}", node.op->name,
                   i, got.text(), want.text(), print_node(g_, n));
      CLEAVE_CHECK(add_part(node.inputs[i], part));
    }
    return {};
  }

  Graph& g_;
  Builder b_;
  const GradRequest& request_;
  const Derivative kind_;
  GraphMemo& memo_;
  const std::vector<NodeId> order_;  // the nodes of the forward
  const size_t first_new_;           // values from this id on are made by the sweep
  std::vector<bool> active_, wrt_, named_;
  std::vector<ValueId> sum_;  // the gradient so far, by value
};

Result<Values> differentiate_subgraph(Graph& g, const OpRegistry& ops, const Values& outputs,
                                      const Values& cotangents, const Values& wrt,
                                      GraphMemo& memo) {
  return Sweep(g, ops, {outputs, cotangents, wrt}, Derivative::partial, memo).run();
}

// Derivatives refer to the subgraphs that g refers to. Dead code that is removed from a
// derivative's subgraph but not from g's would leave two different graphs of one name.
Status drop_dead_in_subgraphs(Graph& g) {
  return rewrite_subgraphs(g,
                           [](Graph& sub) -> Result<bool> { return eliminate_dead_code(sub) > 0; });
}

}  // namespace

Result<Values> add_gradients(Graph& g, const OpRegistry& ops, const GradRequest& request) {
  CLEAVE_CHECK(drop_dead_in_subgraphs(g));
  GraphMemo memo(g);
  return Sweep(g, ops, request, Derivative::total, memo).run();
}

}  // namespace cleave
