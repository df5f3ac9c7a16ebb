// How long one call takes on this machine. A plan made from measured times may differ from run to
// run, so nothing measures calls unless asked to (`cleave partition --mode pytorch --estimator
// profile`).
//
//   call ─► a graph of this call ─► compiled as any program ─► run several times ─► median, ns
//
// Symbolic sizes take their hints. Inputs are made up: floating ones in the range of the operator's
// own samples, integers 0 (a valid index), booleans alternating.
#pragma once
#include <map>
#include <string>

#include "cleave/target.h"
#include "ir/graph.h"
#include "ir/op_def.h"

namespace cleave {

struct MeasureOptions {
  int threads = 1;
  Target target = Target::here();
  int runs = 7;                // at least; more while they take less than `enough_ns`
  int64_t enough_ns = 200000;  // in sum
};

class CallTimer {
 public:
  explicit CallTimer(const OpRegistry& ops, MeasureOptions options = {})
      : ops_(ops), options_(options) {}
  // In ns; 0 for views, at least 1 for others. Equal calls are measured once. Errors: those of
  // compiling and running the call.
  Result<int64_t> measure(const Graph& g, NodeId n);

 private:
  Result<int64_t> run_alone(const Graph& alone);

  const OpRegistry& ops_;
  MeasureOptions options_;
  std::map<std::string, int64_t> known_;  // by the text of the graph
};

}  // namespace cleave
