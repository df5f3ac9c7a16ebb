#include "tool/cut_choice.h"

#include <algorithm>
#include <chrono>

#include "base/byte_size.h"
#include "cut/default_partition.h"
#include "exec/measure_call.h"
#include "remat/budget_partition.h"
#include "remat/parse_budget.h"

namespace cleave::tool {
namespace {

using Clock = std::chrono::steady_clock;

Result<Partition> cut_as_pytorch(const CutOptions& o, Graph& joint, const OpRegistry& ops,
                                 const StageOptions& compile, PytorchAccount& account) {
  CLEAVE_TRY(const PytorchOptions options, o.pytorch());
  CallTimer timer(ops, {.target = compile.target});
  simplify_as_pytorch(joint);
  return pytorch_partition(joint, options, &account,
                           [&](const Graph& g, NodeId n) { return timer.measure(g, n); });
}

// With the peak at the corner that a change names, if that is known.
std::vector<ValueExplanation> explained_values(const ExactCut& exact, const Partition& cut,
                                               ProgramPlanner& planner) {
  std::vector<ValueExplanation> out = explain_cut(exact, cut);
  std::vector<size_t> points(exact.frontier().corners().size());  // by corner
  for (size_t k = 0; k < exact.points().size(); ++k)
    if (const int32_t corner = exact.points()[k].corner; corner >= 0)
      points[static_cast<size_t>(corner)] = k;
  // The halves of each corner must be lowered for its peak: too slow for many corners of a large
  // graph.
  constexpr size_t max_lowered = 200000;
  const bool with_peaks = points.size() * exact.graph().joint().graph().node_count() <= max_lowered;
  CutPeaks peaks(exact, planner);
  for (ValueExplanation& s : out)
    if (with_peaks && s.corner && *s.corner < points.size())
      if (const Result<ForwardBackwardPeak> peak = peaks.at(points[*s.corner]); peak.ok())
        s.change += fmt::format(", at a peak of {} B", peak->peak());
  return out;
}

Result<Partition> cut_exactly(const CutOptions& o, Graph& joint, ProgramPlanner& planner,
                              Explained explained, FoundCut& found, Clock::duration& explaining) {
  simplify_joint(joint);
  MemoryBudget budget;
  if (!o.budget.empty()) { CLEAVE_TRY(budget, parse_budget(o.budget)); }
  const Returned returned = o.saved_bytes.empty() ? Returned::free : Returned::counted;
  CLEAVE_TRY(const ExactCut exact, ExactCut::of(joint, planner.rates(), returned));
  const auto explain = [&](const Partition& cut) {
    const Clock::time_point begin = Clock::now();
    if (explained == Explained::reasons)
      found.explanation = explain_cut(exact, cut);
    else if (explained == Explained::with_peaks)
      found.explanation = explained_values(exact, cut, planner);
    explaining = Clock::now() - begin;
  };
  if (!o.saved_bytes.empty()) {
    if (budget.given()) return user_error("--budget and --saved-bytes: expected one of them");
    CLEAVE_TRY(const int64_t bytes, parse_byte_size(o.saved_bytes, "--saved-bytes"));
    CLEAVE_TRY(const flow::BudgetChoice choice, exact.within(bytes));
    CLEAVE_TRY(Partition cut, exact.partition(choice.choice.recompute));
    explain(cut);
    return cut;
  }
  if (!budget.given()) {
    CLEAVE_TRY(Partition cut, exact.partition_at(0));
    explain(cut);
    return cut;
  }
  CLEAVE_TRY(BudgetPartition within, cut_within(exact, budget, planner));
  explain(within.cut);
  found.lower_bound = within.lower_bound_bytes;
  CLEAVE_TRY(const ForwardBackwardPeak whole, CutPeaks(exact, planner).at(0));
  found.budget = budget.bytes(whole.peak());
  return std::move(within.cut);
}

}  // namespace

void CutOptions::add_to(OptionList& options) {
  options.option("--mode", mode,
                 "exact (the best cut), pytorch (as its partitioner), default (what the "
                 "backward reads is saved)");
  options.option("--budget", budget,
                 "exact: of the peak of both halves (64MiB, 60% of that with nothing "
                 "recomputed); pytorch: a part of the saved bytes (0.25, 25%)");
  options.option("--saved-bytes", saved_bytes,
                 "exact: the cheapest cut that saves at most so much (64MiB)");
  rules.add_to(options);
}

Status CutOptions::check() const {
  if (mode != "default" && mode != "exact" && mode != "pytorch")
    return user_error("--mode {}: expected default, exact or pytorch", mode);
  if (mode == "default" && !budget.empty())
    return user_error("--budget: mode default saves what the backward reads and takes none");
  if (mode != "exact" && !saved_bytes.empty())
    return user_error("--saved-bytes: of mode exact alone");
  if (const auto options = pytorch(); !options.ok()) return Failure(options.failure());
  return rules.check(mode);
}

Result<PytorchOptions> CutOptions::pytorch() const {
  return rules.options(mode == "pytorch" ? budget : "");
}

Result<FoundCut> find_cut(const CutOptions& o, Graph& joint, const OpRegistry& ops,
                          const StageOptions& compile, Explained explained) {
  StagePlanner planner(ops, compile);
  FoundCut out;
  PytorchAccount account;
  Clock::duration explaining{};
  const Clock::time_point begin = Clock::now();
  Result<Partition> cut = o.mode == "pytorch" ? cut_as_pytorch(o, joint, ops, compile, account)
                          : o.mode == "exact"
                              ? cut_exactly(o, joint, planner, explained, out, explaining)
                              : default_partition(joint);
  out.solve_ms =
      std::chrono::duration<double, std::milli>(Clock::now() - begin - explaining).count();
  if (!cut.ok()) return Failure(cut.failure());
  out.partition = std::move(*cut);
  if (o.mode == "pytorch") out.account = std::move(account);
  out.cost_ns = recompute_cost_ns(joint, out.partition, planner.rates());
  // If the halves can't be lowered, the peak isn't known.
  if (Result<ForwardBackwardPeak> peak = forward_backward_peak(joint, out.partition, planner);
      peak.ok()) {
    out.planned_peak = peak->peak();
    if (!out.lower_bound) out.lower_bound = std::min(peak->between, peak->peak());
  }
  return out;
}

std::vector<ReasonCount> reasons_of(const FoundCut& cut) {
  if (cut.explanation.empty()) return count_reasons(cut.partition);
  // The reasons of prices name a number each.
  Partition by_rule;
  for (const ValueExplanation& e : cut.explanation) {
    const bool by_price = e.reason.find("price: a byte") != std::string::npos;
    const std::string why = "; " + (by_price ? "the price of a byte" : e.reason);
    if (e.fate == Fate::saved)
      by_rule.saved.push_back({e.name, e.bytes, false, why});
    else if (e.fate == Fate::recomputed)
      by_rule.recomputed.push_back({e.name, e.bytes, 0, why});
  }
  return count_reasons(by_rule);
}

}  // namespace cleave::tool
