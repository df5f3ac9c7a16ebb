// Programs that compute the same with less memory and more time: a family that doesn't depend on
// the budget asked for, from which the cheapest that fits is taken.
//
//   time  ^  o              o   members: the graph's own order, the order of the least peak, and
//         |    o                for each of several limits below that a sequence which runs nodes
//         |       o             again, searched from the one before and from the cut at the peak;
//         |           o   o     and the programs of whole_candidates.h
//         +--------------►      each is lowered to its exact peak; so a larger budget never gives
//           peak                a dearer program, and a smaller one never a larger peak
//
// A budget is met wherever a point of the exact frontier meets it, and never at more than that
// costs.
//
// Levels are searched down only as far as a budget asks, and one more. What is then chosen doesn't
// depend on how far they were searched before: level k is searched from level k - 1 alone, and a
// member that is cheaper than the main one of a level two or more above is left out, since a larger
// budget wouldn't have seen it.
//
// All members give the same bits: the same nodes run on the same values. Random nodes keep their
// streams.
#pragma once
#include "cleave/memory_budget.h"
#include "plan/sequence_search.h"
#include "remat/program_planner.h"
#include "remat/whole_candidates.h"

namespace cleave {

struct FamilyMember {
  std::vector<plan::TaskId> sequence;
  std::vector<size_t> apart;        // steps of it with a run for each result
  std::optional<size_t> candidate;  // of the whole programs; then there is no sequence
  int64_t recompute_ns = 0;
  int64_t modelled_peak = 0;    // of the tasks; without what lowering adds
  std::optional<int64_t> peak;  // exact, once it was planned
  int64_t min_peak = 0;         // a lower bound, once it was lowered
  int budget_level = 0;         // 0: recomputes nothing
  bool is_main = false;         // the cheapest of its level
};

class BudgetFamily {
 public:
  // A static, decomposed graph that isn't fused yet; `forward_results` as in CompileOptions.
  // Errors: those of lowering.
  static Result<BudgetFamily> make(const Graph& graph, std::shared_ptr<ProgramPlanner> planner,
                                   size_t forward_results = 0);

  // Those found so far, level by level; whole programs, which are found where something has to run
  // again, are of level 0.
  const std::vector<FamilyMember>& members() const { return members_; }
  // Finds all the others.
  Status complete();
  // The member's program, fused, and its exact peak.
  Result<Graph> program(size_t member) const;
  Result<int64_t> peak(size_t member);
  // The peak where it may be within `room`, else a lower bound of it above `room`.
  Result<int64_t> peak_within(size_t member, int64_t room);
  // Of the cheapest, which recomputes nothing.
  Result<int64_t> whole_peak();
  // No order and recomputation of these calls, as the members fuse them, has a smaller peak; and
  // what is alive there. Lowers each whole program.
  Result<StepTasks::Bound> lower_bound();

  // The cheapest member whose exact peak is within the budget, ties to sequences, then to the
  // smaller peak. Error (user): none is; names the least peak found, the lower bound and what binds
  // it.
  Result<size_t> choose(const MemoryBudget& budget);

 private:
  // Limits between the least peak of an order and the largest step.
  static constexpr int budget_levels = 14;
  BudgetFamily(const Graph& graph, std::shared_ptr<ProgramPlanner> planner, size_t forward_results)
      : graph_(std::make_unique<Graph>(graph)), unfused_(graph), planner_(std::move(planner)),
        forward_results_(forward_results) {}
  Status build();
  Status find_candidates();
  bool add_level();  // false: there is none left
  plan::FoundSequence search(int64_t limit) const;
  int64_t limit_of(int level) const { return top_ - (top_ - bottom_) * level / budget_levels; }
  void add(const std::vector<plan::TaskId>& sequence, bool with_apart = false);
  int64_t cost_of(const plan::FoundSequence& found) const;
  Result<std::optional<size_t>> cheapest_sequence(int64_t room);
  Result<std::optional<size_t>> cheapest_candidate(int64_t room, int64_t below_ns);

  std::unique_ptr<Graph> graph_;  // fused
  Graph unfused_;
  std::shared_ptr<ProgramPlanner> planner_;
  std::optional<std::vector<WholeCandidate>> candidates_;  // none: not looked for yet
  std::unique_ptr<StepProgram> steps_;
  std::unique_ptr<StepTasks> tasks_;
  std::vector<FamilyMember> members_;
  std::vector<plan::TaskId> start_, last_;  // of the levels: their order, and the level above
  size_t forward_results_;
  int64_t top_ = 0, bottom_ = 0;  // modelled peaks between which the levels lie
  int budget_level_ = 0;          // the last one searched
  bool is_complete_ = false;
};

}  // namespace cleave
