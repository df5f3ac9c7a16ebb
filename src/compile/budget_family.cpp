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

constexpr int budget_levels = 14;  // limits between the least peak of an order and the largest step

// A level is searched again and again, from what was found, as long as that gains a hundredth.
constexpr int max_searches = 8;
constexpr int64_t longer = 8;  // where nothing is within the limit yet
int64_t moves_of(size_t tasks) { return 4000 + 12 * static_cast<int64_t>(tasks); }

}  // namespace

Result<BudgetFamily> BudgetFamily::make(const Graph& graph, const Target& target) {
  BudgetFamily out(graph, target);
  CLEAVE_CHECK(out.build());
  return out;
}

Status BudgetFamily::build() {
  CLEAVE_TRY(const PlannedProgram plain, measure_program(*graph_, *library_, Save::nothing));
  steps_ = std::make_unique<StepProgram>(step_program(*graph_, plain.lowered));
  CLEAVE_TRY(StepTasks tasks, StepTasks::make(*graph_, *steps_, {}));
  tasks_ = std::make_unique<StepTasks>(std::move(tasks));
  const StepTasks::Bound bound = tasks_->lower_bound();
  lower_bound_ = steps_->placeholder_bytes + bound.bytes;
  bound_by_ = bound.by;
  add({tasks_->given()});
  const plan::Order order = plan::min_peak_order(tasks_->tasks(), tasks_->given());
  add({tasks_->together(order.steps)});
  start_ = members_.back().modelled_peak <= members_.front().modelled_peak
               ? members_.back().sequence
               : tasks_->given();
  last_ = start_;
  CLEAVE_TRY(const plan::Simulated run, plan::simulate(tasks_->tasks(), start_));
  top_ = run.peak;
  bottom_ = plan::largest_step(tasks_->tasks());
  return {};
}

// Keeps the valid ones that aren't there yet, the cheapest as the level's main one.
void BudgetFamily::add(std::vector<std::vector<plan::TaskId>> sequences) {
  std::vector<FamilyMember> found;
  for (const auto& sequence : sequences) {
    FamilyMember m{.sequence = tasks_->needed(sequence), .budget_level = budget_level_};
    const Result<plan::Simulated> run = plan::simulate(tasks_->tasks(), m.sequence);
    if (!run.ok()) continue;
    m.recompute_ns = tasks_->recompute_ns(m.sequence);
    m.modelled_peak = run->peak;
    found.push_back(std::move(m));
  }
  std::ranges::stable_sort(found, {}, &FamilyMember::recompute_ns);
  for (FamilyMember& m : found) {
    m.is_main = &m == &found.front();
    const bool left_out = std::ranges::any_of(members_, [&](const FamilyMember& other) {
      const bool unseen = other.is_main && other.budget_level <= budget_level_ - 2 &&
                          other.recompute_ns > m.recompute_ns;
      return unseen || other.sequence == m.sequence;
    });
    if (!left_out) members_.push_back(std::move(m));
  }
}

// What a found sequence recomputes at least, as a program.
int64_t BudgetFamily::cost_of(const plan::FoundSequence& found) const {
  return std::min(tasks_->recompute_ns(tasks_->needed(found.steps)),
                  tasks_->recompute_ns(tasks_->needed(tasks_->together(found.steps))));
}

plan::FoundSequence BudgetFamily::search(int64_t limit) const {
  const plan::TaskGraph& graph = tasks_->tasks();
  plan::FoundSequence best;
  int64_t least = 0;
  for (int again = 0; again < max_searches; ++again) {
    plan::RecomputeOptions options{
        .seed = static_cast<uint64_t>(budget_level_ + budget_levels * again),
        .moves = moves_of(graph.size())};
    if (again > 0 && !best.met) options.moves *= longer;
    options.seeds = {again == 0 ? &last_ : &best.steps, 1};
    plan::FoundSequence found = plan::find_recompute(graph, {&start_, 1}, limit, options);
    const int64_t cost = cost_of(found);
    const bool gains = again == 0 || (found.met != best.met ? found.met
                                      : found.met           ? cost < least / 100 * 99
                                                            : found.peak < best.peak);
    if (!gains) break;
    best = std::move(found);
    least = cost;
  }
  return best;
}

bool BudgetFamily::add_level() {
  if (is_complete_ || budget_level_ == budget_levels) return false;
  ++budget_level_;
  plan::FoundSequence best = search(top_ - (top_ - bottom_) * budget_level_ / budget_levels);
  add({best.steps, tasks_->together(best.steps)});
  last_ = std::move(best.steps);
  is_complete_ = !best.met;
  return true;
}

void BudgetFamily::complete() {
  while (add_level()) {}
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
  if (m.min_peak > room) return m.min_peak;
  CLEAVE_TRY(const Graph g, program(member));
  CLEAVE_TRY(PlannedProgram planned, measure_program(g, *library_));
  m.min_peak = planned.min_bytes();
  if (m.min_peak > room) return m.min_peak;
  CLEAVE_CHECK(plan_memory(planned.lowered));
  m.peak = planned.peak_bytes();
  return *m.peak;
}

Result<int64_t> BudgetFamily::whole_peak() {
  std::optional<int64_t> least;
  for (size_t k = 0; k < members_.size() && members_[k].budget_level == 0; ++k) {
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
  std::optional<int> last_level;  // known once a main member fits
  for (size_t k = 0;; ++k) {
    while (k == members_.size() && budget_level_ < last_level.value_or(budget_levels) &&
           add_level()) {}
    if (k == members_.size() || members_[k].budget_level > last_level.value_or(budget_levels))
      break;
    const bool dearer = best && members_[k].recompute_ns > members_[*best].recompute_ns;
    if (dearer && (last_level || !members_[k].is_main)) continue;
    CLEAVE_TRY(const int64_t bytes, peak_within(k, room));
    if (bytes > room) continue;
    const FamilyMember& m = members_[k];
    if (m.is_main && !last_level) last_level = m.budget_level == 0 ? 0 : m.budget_level + 1;
    const auto rank = [](const FamilyMember& x) { return std::pair(x.recompute_ns, *x.peak); };
    if (!best || rank(m) < rank(members_[*best])) best = k;
  }
  if (best) return *best;
  int64_t least = whole;
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
