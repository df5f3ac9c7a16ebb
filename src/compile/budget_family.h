// Programs that compute the same with less memory and more time: a family that doesn't depend on
// the budget asked for, from which the cheapest that fits is taken.
//
//   time  ^  o              o   members: the graph's own order, the order of the least peak, and
//         |    o                for each of several limits below that a sequence which runs nodes
//         |       o             again, searched from the one before and from the cut at the peak
//         |           o   o     each is lowered to its exact peak; so a larger budget never gives
//         +--------------►      a dearer program, and a smaller one never a larger peak
//           peak
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
#include "compile/plan_program.h"
#include "cut/step_tasks.h"
#include "ir/op_def.h"
#include "plan/sequence_search.h"

namespace cleave {

struct FamilyMember {
  std::vector<plan::TaskId> sequence;
  int64_t recompute_ns = 0;
  int64_t modelled_peak = 0;    // of the tasks; without what lowering adds
  std::optional<int64_t> peak;  // exact, once it was planned
  int64_t min_peak = 0;         // a lower bound, once it was lowered
  int budget_level = 0;         // 0: recomputes nothing
  bool is_main = false;         // the cheapest of its level
};

class BudgetFamily {
 public:
  // A static, decomposed graph. Errors: those of lowering.
  static Result<BudgetFamily> make(const Graph& graph, const Target& target);

  // Those found so far, level by level.
  const std::vector<FamilyMember>& members() const { return members_; }
  // Finds all the others.
  void complete();
  // The member's program, and its exact peak.
  Result<Graph> program(size_t member) const;
  Result<int64_t> peak(size_t member);
  // The peak where it may be within `room`, else a lower bound of it above `room`.
  Result<int64_t> peak_within(size_t member, int64_t room);
  // Of the cheapest, which recomputes nothing.
  Result<int64_t> whole_peak();
  // No program has a smaller peak, and what is alive there.
  int64_t lower_bound() const { return lower_bound_; }
  const std::string& bound_by() const { return bound_by_; }

  // The cheapest member whose exact peak is within the budget, ties to the smaller peak. Error
  // (user): none is; names the least peak found, the lower bound and what binds it.
  Result<size_t> choose(const MemoryBudget& budget);

 private:
  BudgetFamily(const Graph& graph, const Target& target)
      : graph_(std::make_unique<Graph>(graph)),
        library_(std::make_unique<runtime::LibraryCache>(target)) {}
  Status build();
  bool add_level();  // false: there is none left
  plan::FoundSequence search(int64_t limit) const;
  void add(std::vector<std::vector<plan::TaskId>> sequences);
  int64_t cost_of(const plan::FoundSequence& found) const;

  std::unique_ptr<Graph> graph_;
  std::unique_ptr<StepProgram> steps_;
  std::unique_ptr<StepTasks> tasks_;
  std::vector<FamilyMember> members_;
  std::vector<plan::TaskId> start_, last_;  // of the levels: their order, and the level above
  int64_t top_ = 0, bottom_ = 0;            // modelled peaks between which the levels lie
  int budget_level_ = 0;                    // the last one climbed
  bool is_complete_ = false;
  std::unique_ptr<runtime::LibraryCache> library_;
  int64_t lower_bound_ = 0;
  std::string bound_by_;
};

}  // namespace cleave
