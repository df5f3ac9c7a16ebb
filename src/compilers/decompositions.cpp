#include "compilers/decompositions.h"

#include <algorithm>
#include <set>

#include "cleave/options.h"
#include "compilers/traced_graph.h"
#include "lower/decompose.h"
#include "op/registry.h"
#include "pass/host_rules.h"
#include "trace/custom_op.h"

namespace cleave {

Decompositions Decompositions::defaults() {
  return Decompositions().with({"detach",
                                "gelu_backward",
                                "leaky_relu_backward",
                                "sigmoid_backward",
                                "threshold_backward",
                                "hardtanh_backward",
                                "hardsigmoid_backward",
                                "hardswish_backward",
                                "tanh_backward",
                                "silu_backward",
                                "elu_backward",
                                "cudnn_batch_norm",
                                "cudnn_batch_norm_backward",
                                "masked_fill",
                                "elu",
                                "leaky_relu",
                                "hardtanh",
                                "hardswish",
                                "hardsigmoid",
                                "conj_physical",
                                "is_same_size"});
}

Decompositions Decompositions::select() {
  Decompositions out;
  out.selects_ = true;
  return out;
}

Decompositions Decompositions::with(const std::vector<std::string>& operators) const {
  const OpRegistry& ops = trace::core_registry();
  Decompositions out = *this;
  for (const std::string& name : operators) {
    const OpDef* op = ops.find(name);
    if (op == nullptr) {
      const std::string nearest = ops.nearest(name);
      throw_failure(user_error("Decompositions: there is no operator `{}`{}", name,
                               nearest.empty() ? "" : "; did you mean `" + nearest + "`?"));
    }
    if (!op->decompose.present())
      throw_failure(user_error("Decompositions: `{}` has no decomposition: {}", name,
                               op->decompose.reason()));
    if (std::ranges::find(out.operators_, name) == out.operators_.end())
      out.operators_.push_back(name);
  }
  return out;
}

Decompositions Decompositions::with_rule(const RewriteRule& rule) const {
  Decompositions out = *this;
  out.rules_.push_back(rule);
  out.rules_.back().point = RulePoint::pre_grad;
  return out;
}

Decompositions Decompositions::without(const std::vector<std::string>& names) const {
  Decompositions out = *this;
  for (const std::string& name : names)
    if (std::erase(out.operators_, name) +
            std::erase_if(out.rules_, [&](const RewriteRule& r) { return r.name == name; }) ==
        0)
      throw_failure(user_error("Decompositions: `{}` is not among them", name));
  return out;
}

Status decompose(const Decompositions& chosen, Graph& graph, const OpRegistry& ops) {
  std::vector<CompilePass> reports;
  CompileOptions options;
  options.rules = chosen.rules();
  CLEAVE_CHECK(run_host_rules(RulePoint::pre_grad, graph, ops, options, RuleTimes::none, reports));
  const std::set<std::string_view> names(chosen.operators().begin(), chosen.operators().end());
  if (!names.empty())
    CLEAVE_CHECK(
        decompose_calls(graph, ops, [&](const OpView& op) { return names.contains(op.name()); }));
  return chosen.selects() ? decompose_for_lowering(graph, ops) : Status();
}

TracedGraph Decompositions::apply(const TracedGraph& graph) const {
  auto [g, ops] = graph.state();
  value_or_throw(decompose(*this, g, ops.registry()));
  return traced_graph(std::move(g), std::move(ops));
}

}  // namespace cleave
