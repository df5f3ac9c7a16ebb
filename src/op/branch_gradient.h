// The derivative of a cond's branch: a copy of the branch that recomputes its forward from the
// operands and then computes the gradients of some of them.
//
//   graph @up(%a, %w) {            graph @up.grad(%a, %w, %tangent.0) {
//     %r = mul(%a, %w)               %grad.a = mul(%tangent.0, %w)
//     return %r              ->      %grad.w = mul(%tangent.0, %a)
//   }                                return %grad.a, %grad.w
//                                  }
//
// Built once for each graph and question (GraphMemo), however many calls refer to the graph.
#pragma once
#include "ir/builder.h"
#include "ir/graph_memo.h"

namespace cleave {

// The derivative that both branches of a call must provide.
struct BranchQuestion {
  std::vector<bool> cotangents;  // by result: whether one reached it
  std::vector<bool> wanted;      // by operand: whether its gradient is needed
};

class BranchGradient {
 public:
  static Result<BranchGradient> make(const OpRegistry& ops, const GradView& op, GraphRef branch,
                                     const BranchQuestion& question);

  // By operand: whether it has a gradient in this branch.
  std::vector<bool> reached() const;
  // Makes the gradients of `kept` operands the results, with zeros for those that nothing reaches.
  Status finish(const std::vector<bool>& kept);
  // By operand, then by result with a cotangent: whether the finished derivative reads it.
  std::vector<bool> reads() const;
  // Returns the finished derivative, which takes only the operands and cotangents marked in `read`.
  GraphRef of(const std::vector<bool>& read) const;

 private:
  BranchGradient(const OpRegistry& ops, GraphMemo& memo, GraphMemo::Question question)
      : ops_(&ops), memo_(&memo), question_(std::move(question)) {}

  const OpRegistry* ops_;
  GraphMemo* memo_;
  GraphMemo::Question question_;  // the questions so far, as the memo's key
  GraphRef derivative_;
  Values grads_;  // by operand; none where nothing reaches it
};

}  // namespace cleave
