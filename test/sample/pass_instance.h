// Random graphs in which a pass applies: variations of the cases in its golden.
//
//   sizes      others, in types and attributes alike, products of sizes too
//   dtypes     f32 becomes f64, bf16 or f16
//   strides    of inputs
//   readers    a value in the middle is also returned, or read by another call
//   around     inputs are results of calls, results are read by further calls
//   names and the order of calls
//   devices    all on one, some constructors on the CPU
//
// A variation that an operator refuses is drawn again.
#pragma once
#include <random>

#include "test/sample/golden.h"
#include "test/sample/random_graph.h"

namespace cleave::random {

struct InstanceOptions {
  bool open_rows = false;  // no mask covers a whole row
};

// An instance of the case; the case itself where no variation of it can be made.
Result<RandomGraph> pass_instance(const Graph& golden, const OpRegistry& ops, uint64_t seed,
                                  const InstanceOptions& options = {});

struct PassVerdict {
  std::string wrong;  // empty: both sides compute the same
  int64_t matches = 0;
  std::vector<RuleCount> rules;
};

// Runs the pass on the instance and compares what both sides compute by the oracle: exactly where
// no rule of it rounds. Of a pass before grad each fourth seed's gradients too, by every floating
// input.
Result<PassVerdict> check_pass(const PassRow& row, const RandomGraph& instance,
                               const OpRegistry& ops, uint64_t seed);

}  // namespace cleave::random
