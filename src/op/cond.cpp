// cond(pred, operands; then, otherwise) -> y...      y = then(operands) where pred is true,
//                                                    else otherwise(operands)
//   pred       bool of one element (C1)
//   operands   any tensors, the inputs of the graphs
//   then, otherwise   graphs with (C2) one placeholder for each operand, (C3) of its type, that
//              (C4) return the same types, at least one, and only results; (C5) their symints are
//              the caller's of the same name
//
// Only one of the graphs runs: an error of the other (an index out of range) isn't reported.
// PyTorch calls the graphs true_fn and false_fn. The gradient is a cond of the same pred whose
// graphs recompute their forward from the operands (branch_gradient.h); random calls in it draw the
// same numbers.
#include <algorithm>
#include <functional>

#include "ir/subgraph.h"
#include "op/branch_gradient.h"
#include "op/cost.h"
#include "op/entry.h"
#include "op/subgraph_rules.h"

namespace cleave {

std::vector<Sample> cond_samples();
std::vector<Reject> cond_rejects();

namespace {

constexpr const char* attrs[] = {"then", "otherwise"};

Result<Types> infer(const OpView& op) {
  if (!is_flag(op, op.in_type(0)))
    return op.broken("C1", "pred is {}, expected a bool of one element", op.in_type(0).text());
  const std::vector<const Type*> operands = list_types(op);
  for (const char* attr : attrs) CLEAVE_CHECK(check_subgraph(op, attr, operands));
  Types then = result_types(*op.graph_attr("then"));
  const Types otherwise = result_types(*op.graph_attr("otherwise"));
  if (then.size() != otherwise.size())
    return op.broken("C4", "then returns {} results, otherwise {}", then.size(), otherwise.size());
  for (size_t k = 0; k < then.size(); ++k)
    if (!is_same_type(op, then[k], otherwise[k]))
      return op.broken("C4", "result {} of then is {}, that of otherwise {}", k, then[k].text(),
                       otherwise[k].text());
  return then;
}

BranchQuestion question_of(const GradView& op) {
  BranchQuestion out;
  for (int k = 0; k < op.out_count(); ++k) out.cotangents.push_back(op.dout(k).valid());
  for (int k = 0; k < op.list_size(); ++k)
    out.wanted.push_back(op.list_needs(k) && is_floating(op.list_type(k).dtype));
  return out;
}

std::vector<bool> either(std::vector<bool> a, const std::vector<bool>& b) {
  for (size_t k = 0; k < a.size(); ++k) a[k] = a[k] || b[k];
  return a;
}

Result<Values> backward(Builder& b, const GradView& op) {
  Values out = op.no_grads();
  const BranchQuestion question = question_of(op);
  std::vector<BranchGradient> branches;
  for (const char* attr : attrs) {
    CLEAVE_TRY(BranchGradient made,
               BranchGradient::make(b.ops(), op, op.graph_attr(attr), question));
    branches.push_back(std::move(made));
  }
  const std::vector<bool> kept = either(branches[0].reached(), branches[1].reached());
  if (std::ranges::none_of(kept, std::identity())) return out;
  for (BranchGradient& branch : branches) CLEAVE_CHECK(branch.finish(kept));
  const std::vector<bool> read = either(branches[0].reads(), branches[1].reads());

  Values operands, handed;
  for (int k = 0; k < op.list_size(); ++k) operands.push_back(op.list_in(k));
  for (int k = 0; k < op.out_count(); ++k)
    if (op.dout(k).valid()) operands.push_back(op.dout(k));
  for (size_t k = 0; k < operands.size(); ++k)
    if (read[k]) handed.push_back(operands[k]);
  NamedAttrs graphs;
  for (size_t i = 0; i < branches.size(); ++i) graphs.emplace_back(attrs[i], branches[i].of(read));
  const Values grads = b.call("cond", {op.in(0), CallOperand(handed)}, std::move(graphs));
  CLEAVE_CHECK(b.status());
  const auto first = static_cast<size_t>(op.flat(1));
  for (size_t k = 0, next = 0; k < kept.size(); ++k)
    if (kept[k]) out[first + k] = grads[next++];
  return out;
}

}  // namespace

CLEAVE_OPS(cond) {
  return {OpDef{
      .name = "cond",
      .signature = "(Tensor pred, Graph then, Graph otherwise, Tensor[] operands) -> Tensor[]",
      .summary = "One of two graphs, chosen by a bool when the program runs.",
      .source = "torch.ops.higher_order.cond, PyTorch 2.13",
      .traits = Trait::recomputable,
      .infer = infer,
      .reference = [](const RunView& op, std::span<const Array* const> in) -> Result<Arrays> {
        const GraphRef g = op.graph_attr(in[0]->i[0] != 0 ? "then" : "otherwise");
        return op.run(*g, in.subspan(1));
      },
      .decompose = Absent{"control flow is a primitive"},
      .grad = [](Builder& b, const GradView& op) -> Values {
        Result<Values> grads = backward(b, op);
        if (grads.ok()) return *std::move(grads);
        b.fail(std::move(grads).failure());
        return op.no_grads();
      },
      .lower = loop::branch(),
      .cost = [](const OpView& op) -> Cost {
        const Cost then = cost_of_graph(*op.graph_attr("then"));
        const Cost otherwise = cost_of_graph(*op.graph_attr("otherwise"));
        return then.flops > otherwise.flops ? then : otherwise;
      },
      .samples = cond_samples,
      .rejects = cond_rejects,
  }};
}

}  // namespace cleave
