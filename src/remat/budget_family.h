// Programs that compute the same with less memory and more time: a family that doesn't depend on
// the requested budget; the cheapest member that fits is chosen.
//
//   time  ^  o              o   members: the graph's own order; the order with the lowest peak; for
//         |    o                each of several limits below that a sequence that runs nodes again,
//         |       o             searched from the sequence of the limit above and from the cut at
//         |           o   o     the peak; and the programs of whole_candidates.h
//         +--------------►      peaks are exact, from lowering a member: so a larger budget never
//           peak                gives a slower program, and a smaller one never a larger peak
//
// Wherever a point of the exact frontier meets a budget, a member meets it at no higher cost, for
// graphs of up to 200 calls (whole_candidates.cpp).
//
// Levels are searched only down to the first that meets the budget, and one more. The choice
// doesn't depend on how many levels were searched before: level k is searched from level k - 1
// alone, and a member that is cheaper than the main member two or more levels above is left out,
// since with a larger budget its level would not have been searched.
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
  std::vector<size_t> apart;        // positions in it with a run for each result
  std::optional<size_t> candidate;  // index of a whole program; then there is no sequence
  int64_t recompute_ns = 0;
  int64_t modelled_peak = 0;    // of the tasks, without what lowering adds
  std::optional<int64_t> peak;  // exact, once planned
  int64_t min_peak = 0;         // a lower bound of the peak, once lowered
  int budget_level = 0;         // 0: recomputes nothing
  bool is_main = false;         // the cheapest of its level
};

class BudgetFamily {
 public:
  // `graph` is static, decomposed and not yet fused; `forward_results` as in StageOptions.
  // Errors: those of lowering.
  static Result<BudgetFamily> make(const Graph& graph, std::shared_ptr<ProgramPlanner> planner,
                                   size_t forward_results = 0);

  // The members found so far. Sequences come in the order of their levels; whole programs, added
  // when a budget first asks for recomputation, have level 0.
  const std::vector<FamilyMember>& members() const { return members_; }
  // Finds all other members.
  Status complete();
  // The member's program, fused, and its exact peak.
  Result<Graph> program(size_t member) const;
  Result<int64_t> peak(size_t member);
  // The exact peak if it may be within `room`, else a lower bound of the peak, above `room`.
  Result<int64_t> peak_within(size_t member, int64_t room);
  // The smallest budget at which the member may be chosen, if its peak is within it too. A peak is
  // close to what the tasks take, so members whose tasks take far more than a budget aren't
  // lowered. What is offered at the least budget that any member meets is offered below it too.
  int64_t offered_from(size_t member) const;
  // The smallest peak of the sequences that recompute nothing.
  Result<int64_t> whole_peak();
  // The peak of the program that is made without a budget; what a percentage counts from.
  Result<int64_t> peak_without_budget() const;
  // No order and recomputation of these calls, fused as in the members, has a smaller peak; and the
  // name of the call that needs it. Lowers each whole program.
  Result<ProgramTasks::Bound> lower_bound();

  struct Choice {
    size_t member = 0;
    int64_t peak = 0;  // bytes
    // Where values of it are offloaded: the bytes that its arena takes then, and that are copied.
    std::optional<int64_t> arena_room = {};
    int64_t offloaded = 0;
  };
  // The cheapest member whose exact peak is within the budget, ties to sequences, then to the
  // smaller peak; with `offload`, a cheaper one that is so while values of it lie in the host's
  // memory, which costs no time. Error (user): none is; names the smallest peak found, the lower
  // bound and the call that needs it.
  Result<Choice> choose(const MemoryBudget& budget, bool offload = false);

  // The members that some budget chooses, by falling peak and rising time; finds all members.
  struct Trade {
    int64_t peak_bytes = 0, recompute_ns = 0;
    int64_t offloaded_bytes = 0;
  };
  Result<std::vector<Trade>> trades(bool offload = false);

 private:
  // Limits between the least peak of an order and the largest task.
  static constexpr int budget_levels = 14;
  BudgetFamily(const Graph& graph, std::shared_ptr<ProgramPlanner> planner, size_t forward_results)
      : graph_(std::make_unique<Graph>(graph)), unfused_(graph), planner_(std::move(planner)),
        forward_results_(forward_results) {}
  Status split_large_updates();
  Status build();
  Status find_candidates();
  bool add_level();  // false: all levels are searched
  plan::FoundSequence search(int64_t limit) const;
  int64_t limit_of(int level) const { return top_ - (top_ - bottom_) * level / budget_levels; }
  void add(const std::vector<plan::TaskId>& sequence, bool with_apart = false);
  int64_t cost_of(const std::vector<plan::TaskId>& tasks) const;
  Result<int64_t> least_offered();
  Result<std::optional<size_t>> cheapest_below(int64_t least, int64_t room);
  Result<std::optional<size_t>> cheapest_sequence(int64_t room);
  Result<std::optional<size_t>> cheapest_candidate(int64_t room, int64_t below_ns);
  Result<std::optional<Choice>> cheapest_offloaded(int64_t room, int64_t below_ns);

  std::unique_ptr<Graph> graph_;  // fused
  Graph unfused_;
  std::optional<Graph> unsplit_;  // what unfused_ was before updates were split, if they were
  std::shared_ptr<ProgramPlanner> planner_;
  std::optional<std::vector<WholeCandidate>> candidates_;  // nullopt: not searched yet
  std::unique_ptr<ProgramCalls> calls_;
  std::unique_ptr<ProgramTasks> tasks_;
  std::vector<FamilyMember> members_;
  std::vector<plan::TaskId> first_sequence_;  // that the levels start from
  std::vector<plan::TaskId> last_sequence_;   // of the level above
  size_t forward_results_;
  int64_t top_ = 0, bottom_ = 0;  // modelled peaks between which the levels lie
  int budget_level_ = 0;          // the last one searched
  bool is_complete_ = false;
};

}  // namespace cleave
