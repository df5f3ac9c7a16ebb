// One random graph under memory budgets, compared with the same program with nothing recomputed.
//
//   results, updates and gradients have the same bits; every random node that runs again gives the
//   bits of its first run; measured = planned (at most planned where a branch may not be taken);
//   peak <= budget; a larger budget gives no slower program, a smaller one no larger peak; a budget
//   below the smallest peak is an error; cut by PyTorch's partitioner, at several of its budgets,
//   the bits are the same; and so they are, within the budget, where values are offloaded
#pragma once
#include "test/sample/random_graph.h"
#include "test/sample/run_choice.h"

namespace cleave::random {

struct BudgetVerdict {
  std::string violation;  // empty: all of it holds
  int64_t budgets = 0;
  int64_t programs = 0;     // that were run: neighbouring budgets may choose the same one
  int64_t recomputing = 0;  // of them, those that run a node again
  int64_t masks = 0;        // results of random nodes that ran again, compared
  int64_t pytorch = 0;      // programs of mode pytorch that were run
  int64_t offloading = 0;   // programs that were run with values in the host's memory
};

// A joint graph in the form of a training step: tangents become inputs, gradients become results
// after the forward's. And the number of the forward's results.
struct RandomStep {
  RandomGraph r;
  size_t forward_results = 0;
};
Result<RandomStep> as_step(const RandomGraph& joint);

// Budgets at `parts` between the least and the largest peak of the graph's family, rising, from 0
// to 1; `forward_results` as in StageOptions. Unsupported is an error; other failures are
// violations.
Result<BudgetVerdict> check_budgets(const RandomGraph& r, const OpRegistry& ops,
                                    const std::vector<double>& parts, const RunChoice& choice = {},
                                    size_t forward_results = 0);

}  // namespace cleave::random
