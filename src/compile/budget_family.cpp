#include "compile/budget_family.h"

#include <algorithm>
#include <limits>

#include "base/result.h"
#include "compile/step_program.h"
#include "cut/parse_budget.h"
#include "plan/order.h"
#include "plan/recompute.h"
#include "plan/simulate.h"

namespace cleave {
namespace {

constexpr int rungs = 14;  // limits between the least peak of an order and the largest step

int64_t moves_of(size_t tasks) { return 4000 + 100 * static_cast<int64_t>(tasks); }

}  // namespace

Result<BudgetFamily> BudgetFamily::make(const Graph& graph) {
  BudgetFamily out(graph);
  CLEAVE_CHECK(out.build());
  return out;
}

Status BudgetFamily::build() {
  CLEAVE_TRY(const PlannedProgram planned, plan_program(*graph_, *products_));
  steps_ = std::make_unique<StepProgram>(step_program(*graph_, planned.lowered));
  CLEAVE_TRY(StepTasks tasks, StepTasks::make(*graph_, *steps_, {}));
  tasks_ = std::make_unique<StepTasks>(std::move(tasks));
  const StepTasks::Bound bound = tasks_->lower_bound();
  lower_bound_ = steps_->placeholder_bytes + bound.bytes;
  bound_by_ = bound.by;
  add(tasks_->given());
  members_.back().peak = planned.peak_bytes();
  const plan::Order order = plan::least_peak_order(tasks_->tasks(), tasks_->given());
  add(tasks_->together(order.steps));
  search(members_.back().modelled_peak <= members_.front().modelled_peak ? members_.back().sequence
                                                                         : tasks_->given());
  std::stable_sort(members_.begin(), members_.end(),
                   [](const auto& a, const auto& b) { return a.recompute_ns < b.recompute_ns; });
  return {};
}

// Keeps sequences that are valid, with their costs.
void BudgetFamily::add(std::vector<plan::TaskId> sequence) {
  sequence = tasks_->needed(sequence);
  const Result<plan::Simulated> run = plan::simulate(tasks_->tasks(), sequence);
  if (!run.ok()) return;
  for (const FamilyMember& m : members_)
    if (m.sequence == sequence) return;
  FamilyMember member;
  member.recompute_ns = tasks_->recompute_ns(sequence);
  member.modelled_peak = run->peak;
  member.sequence = std::move(sequence);
  members_.push_back(std::move(member));
}

void BudgetFamily::search(std::vector<plan::TaskId> start) {
  const plan::TaskGraph& graph = tasks_->tasks();
  const Result<plan::Simulated> run = plan::simulate(graph, start);
  if (!run.ok()) return;
  const int64_t least = plan::largest_step(graph);
  std::vector<plan::TaskId> last = start;
  for (int k = 1; k <= rungs; ++k) {
    const int64_t limit = run->peak - (run->peak - least) * k / rungs;
    plan::RecomputeOptions options{.seed = static_cast<uint64_t>(k),
                                   .moves = moves_of(graph.size())};
    options.seeds = {&last, 1};
    plan::FoundSequence best = plan::find_recompute(graph, {&start, 1}, limit, options);
    add(best.steps);
    add(tasks_->together(best.steps));
    last = std::move(best.steps);
    if (!best.met) break;
  }
}

Result<Graph> BudgetFamily::program(size_t member) const {
  return tasks_->program(members_[member].sequence);
}

Result<int64_t> BudgetFamily::peak(size_t member) {
  return peak_within(member, std::numeric_limits<int64_t>::max());
}

Result<int64_t> BudgetFamily::peak_within(size_t member, int64_t room) {
  FamilyMember& m = members_[member];
  if (m.peak) return *m.peak;
  if (m.least_peak > room) return m.least_peak;
  CLEAVE_TRY(const Graph g, program(member));
  CLEAVE_TRY(PlannedProgram planned, measure_program(g, *products_));
  m.least_peak = planned.least_bytes();
  if (m.least_peak > room) return m.least_peak;
  CLEAVE_CHECK(plan_memory(planned.lowered));
  m.peak = planned.peak_bytes();
  return *m.peak;
}

Result<int64_t> BudgetFamily::whole_peak() {
  std::optional<int64_t> least;
  for (size_t k = 0; k < members_.size() && members_[k].recompute_ns == 0; ++k) {
    CLEAVE_TRY(const int64_t bytes, peak(k));
    least = std::min(least.value_or(bytes), bytes);
  }
  return *least;
}

Result<size_t> BudgetFamily::choose(const MemoryBudget& budget) {
  CLEAVE_CHECK(check_budget(budget));
  CLEAVE_TRY(const int64_t whole, whole_peak());
  const int64_t room = budget.given() ? budget.bytes(whole) : whole;
  std::optional<size_t> best;
  int64_t least = whole;
  for (size_t k = 0; k < members_.size(); ++k) {
    if (best && members_[k].recompute_ns > members_[*best].recompute_ns) break;
    CLEAVE_TRY(const int64_t bytes, peak_within(k, room));
    if (bytes <= room && (!best || bytes < *members_[*best].peak)) best = k;
  }
  if (best) return *best;
  for (size_t k = 0; k < members_.size(); ++k) {
    CLEAVE_TRY(const int64_t bytes, peak_within(k, least));
    least = std::min(least, bytes);
  }
  return user_error(
      "a memory budget of {} ({} B) is below the least peak found, {} B; no program takes less "
      "than "
      "{} B, where {} are placeholders and the rest is alive at {}. Give at least {} B.",
      budget.text(), room, least, lower_bound_, steps_->placeholder_bytes, bound_by_, least);
}

}  // namespace cleave
