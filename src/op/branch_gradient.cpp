#include "op/branch_gradient.h"

#include "ir/edit.h"
#include "ir/subgraph.h"
#include "op/dims.h"

namespace cleave {

Result<BranchGradient> BranchGradient::make(const OpRegistry& ops, const GradView& op,
                                            GraphRef branch, const BranchQuestion& question) {
  CLEAVE_TRY(GraphMemo * memo, op.memo());
  BranchGradient out(ops, *memo, {branch, {question.cotangents, question.wanted}});
  if (const auto known = memo->find(out.question_)) {
    out.derivative_ = known->graph;
    out.grads_ = known->values;
    return out;
  }
  auto g = std::make_shared<Graph>(*branch);
  const Values parameters = parameters_of(*g);
  Values outputs, tangents, wrt;
  for (size_t k = 0; k < question.cotangents.size(); ++k) {
    if (!question.cotangents[k]) continue;
    const ValueId y = g->returns()[k].value;
    const Type& type = g->type(y);
    CLEAVE_TRY(const ValueId t,
               g->add_placeholder(Role::tangent, g->fresh_name(fmt::format("tangent.{}", k)),
                                  typed_like(type, type.dtype, type.shape)));
    outputs.push_back(y);
    tangents.push_back(t);
  }
  for (size_t k = 0; k < question.wanted.size(); ++k)
    if (question.wanted[k]) wrt.push_back(parameters[k]);
  CLEAVE_TRY(const Values grads, op.differentiate(*g, ops, outputs, tangents, wrt));
  out.grads_.resize(question.wanted.size());
  for (size_t k = 0, next = 0; k < question.wanted.size(); ++k)
    if (question.wanted[k]) out.grads_[k] = grads[next++];
  out.derivative_ = std::move(g);
  memo->keep(out.question_, {out.derivative_, out.grads_});
  return out;
}

std::vector<bool> BranchGradient::reached() const {
  std::vector<bool> out;
  for (const ValueId v : grads_) out.push_back(v.valid());
  return out;
}

Status BranchGradient::finish(const std::vector<bool>& kept) {
  question_.of.push_back(kept);
  if (const auto known = memo_->find(question_)) {
    derivative_ = known->graph;
    return {};
  }
  auto g = std::make_shared<Graph>(*derivative_);
  const Values parameters = parameters_of(*g);
  Builder inside(*g, *ops_);
  std::vector<Return> returns;
  for (size_t k = 0; k < kept.size(); ++k)
    if (kept[k])
      returns.push_back({grads_[k].valid() ? grads_[k] : inside.full_like(parameters[k], 0.0)});
  CLEAVE_CHECK(inside.status());
  g->set_returns(std::move(returns));
  eliminate_dead_code(*g);
  derivative_ = std::move(g);
  memo_->keep(question_, {derivative_});
  return {};
}

std::vector<bool> BranchGradient::reads() const {
  const Graph& g = *derivative_;
  std::vector<bool> out;
  for (const ValueId v : parameters_of(g)) {
    bool read = g.use_count(v) > 0;
    for (const Return& r : g.returns()) read = read || r.value == v;
    out.push_back(read);
  }
  return out;
}

GraphRef BranchGradient::of(const std::vector<bool>& read) const {
  GraphMemo::Question question = question_;
  question.of.push_back(read);
  if (const auto known = memo_->find(question)) return known->graph;
  auto g = std::make_shared<Graph>(*derivative_);
  g->set_name(memo_->fresh_name(question_.graph->name() + ".grad"));
  size_t next = 0;
  g->filter_placeholders(
      [&](const Placeholder& p) { return p.role == Role::symint || read[next++]; });
  memo_->keep(std::move(question), {g});
  return g;
}

}  // namespace cleave
