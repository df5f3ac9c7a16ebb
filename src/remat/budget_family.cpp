#include "remat/budget_family.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "base/result.h"
#include "plan/order.h"
#include "plan/recompute.h"
#include "plan/simulate.h"
#include "remat/cheap_remat.h"
#include "remat/parse_budget.h"
#include "remat/split_updates.h"

namespace cleave {
namespace {

// A level is searched repeatedly, each time from the last result, while that gains 1% or more.
constexpr int max_searches = 8;
constexpr int64_t unmet_moves_factor = 8;  // more moves while no sequence is within the limit
constexpr int64_t dear_moves = 40;  // a level that recomputes 1/40 of the time gets twice the moves
constexpr int64_t smallest_split = 16;  // parts of the peak; a gradient below that stays whole
// Cuts choose what to run again, equal layers together, however many there are. The moves that
// improve on it are as many for each number of tasks.
constexpr int64_t level_moves = 5000;
constexpr int64_t most_saved = 8;  // part of a large program's bytes that lowering may save

// The peaks of both must be known.
bool is_better(const FamilyMember& a, const FamilyMember& b) {
  return std::pair(a.recompute_ns, *a.peak) < std::pair(b.recompute_ns, *b.peak);
}

}  // namespace

Result<BudgetFamily> BudgetFamily::make(const Graph& graph, std::shared_ptr<ProgramPlanner> planner,
                                        size_t forward_results) {
  BudgetFamily out(graph, std::move(planner), forward_results);
  CLEAVE_CHECK(out.build());
  return out;
}

// What is a small part of the peak doesn't raise it.
Status BudgetFamily::split_large_updates() {
  Graph plain = unfused_;
  CLEAVE_CHECK(planner_->fuse(plain));
  CLEAVE_TRY(const ProgramBytes bytes,
             planner_->bytes(plain, [](const ProgramBytes&) { return false; }));
  Graph split = unfused_;
  CLEAVE_TRY(const int count,
             split_updates(split, planner_->ops(), {.least_bytes = bytes.arena / smallest_split}));
  *graph_ = std::move(plain);
  if (count == 0) return {};
  unsplit_ = std::exchange(unfused_, std::move(split));
  *graph_ = unfused_;
  return planner_->fuse(*graph_);
}

Status BudgetFamily::build() {
  CLEAVE_CHECK(split_large_updates());
  CLEAVE_TRY(ProgramCalls calls, planner_->calls(*graph_));
  calls_ = std::make_unique<ProgramCalls>(std::move(calls));
  CLEAVE_TRY(ProgramTasks tasks, ProgramTasks::make(*graph_, *calls_, planner_->rates()));
  tasks_ = std::make_unique<ProgramTasks>(std::move(tasks));
  add(tasks_->given());
  const plan::Order order = plan::min_peak_order(tasks_->tasks(), tasks_->given());
  add(order.tasks);
  first_sequence_ = members_.back().modelled_peak <= members_.front().modelled_peak
                        ? members_.back().sequence
                        : tasks_->given();
  last_sequence_ = first_sequence_;
  CLEAVE_TRY(const plan::Simulated run, plan::simulate(tasks_->tasks(), first_sequence_));
  top_ = run.peak;
  bottom_ = plan::largest_task(tasks_->tasks());
  return {};
}

Status BudgetFamily::find_candidates() {
  if (candidates_) return {};
  CLEAVE_TRY(candidates_, whole_candidates(unfused_, forward_results_, planner_->rates()));
  if (unsplit_) {
    CLEAVE_TRY(const std::vector<WholeCandidate> unsplit,
               whole_candidates(*unsplit_, forward_results_, planner_->rates()));
    candidates_->insert(candidates_->end(), unsplit.begin(), unsplit.end());
    std::ranges::stable_sort(*candidates_, {}, &WholeCandidate::recompute_ns);
  }
  for (size_t k = 0; k < candidates_->size(); ++k) {
    members_.push_back({.candidate = k, .recompute_ns = (*candidates_)[k].recompute_ns});
  }
  return {};
}

// Keeps it if it is valid and not there yet, as the level's main one; and where positions are above
// the next level's limit, the same with their results made apart.
void BudgetFamily::add(const std::vector<plan::TaskId>& sequence, bool with_apart) {
  FamilyMember m{.sequence = tasks_->needed(sequence), .budget_level = budget_level_};
  const Result<plan::Simulated> run = plan::simulate(tasks_->tasks(), m.sequence);
  if (!run.ok()) return;
  m.modelled_peak = run->peak;
  m.is_main = true;
  std::vector<FamilyMember> found{m};
  m.is_main = false;
  if (with_apart) m.apart = tasks_->divisible(m.sequence, limit_of(budget_level_ + 1));
  if (!m.apart.empty()) found.push_back(std::move(m));
  for (FamilyMember& f : found) {
    f.recompute_ns = tasks_->recompute_ns(f.sequence, f.apart);
    const bool left_out = std::ranges::any_of(members_, [&](const FamilyMember& other) {
      const bool unseen = other.is_main && other.budget_level <= budget_level_ - 2 &&
                          other.recompute_ns > f.recompute_ns;
      return unseen || (!other.candidate && other.sequence == f.sequence && other.apart == f.apart);
    });
    if (!left_out) members_.push_back(std::move(f));
  }
}

// The recomputation time of a found sequence, in its order or with the values of each node
// together, whichever is less.
int64_t BudgetFamily::cost_of(const std::vector<plan::TaskId>& tasks) const {
  return tasks_->recompute_ns(tasks_->needed(tasks));
}

plan::FoundSequence BudgetFamily::search(int64_t limit) const {
  const plan::TaskGraph& graph = tasks_->tasks();
  plan::FoundSequence best;
  int64_t least = 0, whole = 1;
  for (const plan::Task& t : graph.tasks) whole += t.time;
  for (int attempt = 0; attempt < max_searches; ++attempt) {
    plan::RecomputeOptions options{
        .seed = static_cast<uint64_t>(budget_level_ + budget_levels * attempt),
        .moves = level_moves};
    const int64_t dear = cost_of(attempt == 0 ? last_sequence_ : best.tasks) * dear_moves / whole;
    options.moves *= 1 + std::min<int64_t>(dear, unmet_moves_factor - 1);
    if (attempt > 0 && !best.met) options.moves = level_moves * unmet_moves_factor;
    options.seeds = {attempt == 0 ? &last_sequence_ : &best.tasks, 1};
    const size_t orders = attempt == 0 || !best.met ? 1 : 0;  // else only the last result
    plan::FoundSequence found =
        plan::find_recompute(graph, {&first_sequence_, orders}, limit, options);
    const int64_t cost = cost_of(found.tasks);
    const bool gains = attempt == 0 || (found.met != best.met ? found.met
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
  plan::FoundSequence best = search(limit_of(budget_level_));
  add(best.tasks, true);
  last_sequence_ = std::move(best.tasks);
  is_complete_ = !best.met;
  return true;
}

Status BudgetFamily::complete() {
  while (add_level()) {}
  return find_candidates();
}

Result<Graph> BudgetFamily::program(size_t member) const {
  const FamilyMember& m = members_[member];
  if (!m.candidate) return tasks_->program(m.sequence, m.apart);
  CLEAVE_TRY(Graph whole, (*candidates_)[*m.candidate].make());
  CLEAVE_CHECK(planner_->fuse(whole));
  return whole;
}

Result<int64_t> BudgetFamily::peak(size_t member) {
  return peak_within(member, std::numeric_limits<int64_t>::max());
}

Result<int64_t> BudgetFamily::peak_within(size_t member, int64_t room) {
  FamilyMember& m = members_[member];
  if (m.peak) return *m.peak;
  if (m.min_peak > room) return m.min_peak;
  CLEAVE_TRY(const Graph g, program(member));
  CLEAVE_TRY(const ProgramBytes bytes,
             planner_->bytes(g, [&](const ProgramBytes& least) { return least.peak() <= room; }));
  m.min_peak = bytes.peak();
  if (bytes.is_exact) m.peak = bytes.peak();
  return bytes.peak();
}

int64_t BudgetFamily::offered_from(size_t member) const {
  const FamilyMember& m = members_[member];
  if (m.candidate) return 0;
  // At any moment, what it lays over other memory belongs to the task that runs.
  return calls_->placeholder_bytes + m.modelled_peak -
         std::max(m.modelled_peak / most_saved, bottom_);
}

Result<int64_t> BudgetFamily::whole_peak() {
  std::optional<int64_t> least;
  for (size_t k = 0; k < members_.size() && members_[k].budget_level == 0; ++k) {
    if (members_[k].candidate) continue;
    CLEAVE_TRY(const int64_t bytes, peak(k));
    least = std::min(least.value_or(bytes), bytes);
  }
  return *least;
}

Result<int64_t> BudgetFamily::peak_without_budget() const {
  Graph g = unsplit_.value_or(unfused_);
  CLEAVE_CHECK(cheap_remat(g, planner_->rates()));
  CLEAVE_CHECK(planner_->fuse(g));
  CLEAVE_TRY(const ProgramBytes bytes,
             planner_->bytes(g, [](const ProgramBytes&) { return true; }));
  return bytes.peak();
}

Result<ProgramTasks::Bound> BudgetFamily::lower_bound() {
  CLEAVE_CHECK(find_candidates());
  ProgramTasks::Bound least = tasks_->lower_bound();
  for (size_t k = 0; k < members_.size(); ++k) {
    if (!members_[k].candidate) continue;
    CLEAVE_TRY(const Graph g, program(k));
    CLEAVE_TRY(const ProgramCalls calls, planner_->calls(g));
    CLEAVE_TRY(const ProgramTasks tasks, ProgramTasks::make(g, calls, planner_->rates()));
    ProgramTasks::Bound bound = tasks.lower_bound();
    if (bound.bytes < least.bytes) least = std::move(bound);
  }
  least.bytes += calls_->placeholder_bytes;
  return least;
}

// The least budget at which a member that is offered fits.
Result<int64_t> BudgetFamily::least_offered() {
  int64_t least = std::numeric_limits<int64_t>::max();
  for (size_t k = 0; k < members_.size(); ++k) {
    if (offered_from(k) >= least) continue;
    CLEAVE_TRY(const int64_t bytes, peak_within(k, least));
    least = std::min(least, std::max(bytes, offered_from(k)));
  }
  return least;
}

// What is offered at `least`, the least budget of all, is offered below it too.
Result<std::optional<size_t>> BudgetFamily::cheapest_below(int64_t least, int64_t room) {
  std::optional<size_t> best;
  for (size_t k = 0; k < members_.size(); ++k) {
    if (offered_from(k) > least) continue;
    CLEAVE_TRY(const int64_t bytes, peak_within(k, room));
    if (bytes <= room && (!best || is_better(members_[k], members_[*best]))) best = k;
  }
  return best;
}

Result<std::optional<size_t>> BudgetFamily::cheapest_sequence(int64_t room) {
  std::optional<size_t> best;
  std::optional<int> last_level;  // known once a main member fits
  for (size_t k = 0;; ++k) {
    while (k == members_.size() && budget_level_ < last_level.value_or(budget_levels) &&
           add_level()) {}
    if (k == members_.size() || members_[k].budget_level > last_level.value_or(budget_levels))
      break;
    if (members_[k].candidate) continue;
    const bool dearer = best && members_[k].recompute_ns > members_[*best].recompute_ns;
    if (dearer && (last_level || !members_[k].is_main)) continue;
    if (offered_from(k) > room) continue;
    CLEAVE_TRY(const int64_t bytes, peak_within(k, room));
    if (bytes > room) continue;
    const FamilyMember& m = members_[k];
    if (m.is_main && !last_level) last_level = m.budget_level == 0 ? 0 : m.budget_level + 1;
    if (!best || is_better(m, members_[*best])) best = k;
  }
  return best;
}

// The cheapest whole program that recomputes less than `below_ns`. Whole programs are stored in the
// order of their times.
Result<std::optional<size_t>> BudgetFamily::cheapest_candidate(int64_t room, int64_t below_ns) {
  std::optional<size_t> best;
  if (below_ns == 0) return best;
  CLEAVE_CHECK(find_candidates());
  for (size_t k = 0; k < members_.size(); ++k) {
    if (!members_[k].candidate) continue;
    const int64_t ns = members_[k].recompute_ns;
    if (ns >= below_ns || (best && ns > members_[*best].recompute_ns)) break;
    CLEAVE_TRY(const int64_t bytes, peak_within(k, room));
    if (bytes <= room && (!best || is_better(members_[k], members_[*best]))) best = k;
  }
  return best;
}

// Of the levels' main members, in their order: each recomputes more than the one before, and leaves
// less to offload. `arena_room` is a number that offloading it meets.
Result<std::optional<BudgetFamily::Choice>> BudgetFamily::cheapest_offloaded(int64_t room,
                                                                             int64_t below_ns) {
  if (planner_->rates().host_gigabytes <= 0) return std::optional<Choice>();
  for (size_t k = 0; k < members_.size(); ++k) {
    const FamilyMember& m = members_[k];
    if (m.candidate || !m.is_main || m.recompute_ns >= below_ns) continue;
    CLEAVE_TRY(const Graph g, program(k));
    CLEAVE_TRY(const std::optional<ProgramPlanner::Offloaded> found, planner_->offloaded(g, room));
    if (found)
      return std::optional<Choice>({.member = k,
                                    .peak = found->bytes.peak(),
                                    .arena_room = room - found->bytes.placeholders,
                                    .offloaded = found->copied});
  }
  return std::optional<Choice>();
}

Result<BudgetFamily::Choice> BudgetFamily::choose(const MemoryBudget& budget, bool offload) {
  CLEAVE_CHECK(check_budget(budget));
  int64_t base = 0;  // what a percentage counts from
  if (budget.is_percent()) { CLEAVE_TRY(base, peak_without_budget()); }
  int64_t room = budget.bytes(base);
  if (!budget.given()) { CLEAVE_TRY(room, whole_peak()); }
  CLEAVE_TRY(const std::optional<size_t> sequence, cheapest_sequence(room));
  CLEAVE_TRY(const std::optional<size_t> candidate,
             cheapest_candidate(room, sequence ? members_[*sequence].recompute_ns
                                               : std::numeric_limits<int64_t>::max()));
  const std::optional<size_t> best = candidate ? candidate : sequence;
  if (offload) {
    CLEAVE_TRY(const std::optional<Choice> found,
               cheapest_offloaded(room, best ? members_[*best].recompute_ns
                                             : std::numeric_limits<int64_t>::max()));
    if (found) return *found;
  }
  if (best) {
    CLEAVE_TRY(const int64_t bytes, peak(*best));
    return Choice{.member = *best, .peak = bytes};
  }
  CLEAVE_TRY(int64_t least, least_offered());
  CLEAVE_TRY(const std::optional<size_t> below, cheapest_below(least, room));
  if (below) return Choice{.member = *below, .peak = *members_[*below].peak};
  for (size_t k = 0; k < members_.size(); ++k) {
    if (offered_from(k) > least) continue;
    CLEAVE_TRY(const int64_t bytes, peak_within(k, least));
    least = std::min(least, bytes);
  }
  CLEAVE_TRY(const ProgramTasks::Bound bound, lower_bound());
  return user_error(
      "a memory budget of {}{} is below the least peak found, {} B; no program takes less than {} "
      "B, where {} are placeholders and the rest is alive at {}. Give at least {} B.",
      budget.text(), budget.is_percent() ? fmt::format(" ({} B)", room) : "", least, bound.bytes,
      calls_->placeholder_bytes, bound.by, least);
}

Result<std::vector<BudgetFamily::Trade>> BudgetFamily::trades(bool offload) {
  CLEAVE_CHECK(complete());
  std::vector<Trade> all, out;
  // What is chosen at a budget of each member's peak: some members never are.
  for (size_t k = 0; k < members_.size(); ++k) {
    CLEAVE_TRY(const int64_t budget, peak(k));
    const Result<Choice> chosen = choose(budget, offload);
    if (!chosen.ok()) continue;
    all.push_back({chosen->peak, members_[chosen->member].recompute_ns, chosen->offloaded});
  }
  std::ranges::sort(all, {},
                    [](const Trade& t) { return std::pair(t.recompute_ns, t.peak_bytes); });
  for (const Trade& t : all)
    if (out.empty() || t.peak_bytes < out.back().peak_bytes) out.push_back(t);
  return out;
}

}  // namespace cleave
