// What the choices of this room ask about programs: how a graph is prepared, what it takes in
// memory, at which prices. Who lowers answers (compile/stage_planner.h).
#pragma once
#include <functional>

#include "cut/call_cost.h"
#include "ir/graph.h"
#include "remat/step_tasks.h"

namespace cleave {

// Bytes of a program, each value rounded up to 64. Where offsets were planned the arena is exact,
// else it is what is alive at once, which no offsets can be below.
struct ProgramBytes {
  int64_t placeholders = 0, arena = 0;
  bool is_exact = false;
  int64_t peak() const { return placeholders + arena; }
};

class ProgramPlanner {
 public:
  virtual ~ProgramPlanner() = default;
  // The one price list of all choices.
  virtual const MachineRates& rates() const = 0;
  // A decomposed graph: into the calls that it runs as.
  virtual Status fuse(Graph& graph) = 0;
  // A graph that was cut, from verify to fuse; what is cut stays as it was cut.
  virtual Status prepare_cut(Graph& graph) = 0;
  // Of a fused graph, what each call reads, makes and needs.
  virtual Result<StepProgram> steps(const Graph& graph) = 0;
  // Of a fused graph; offsets are planned where the least that it can take is `wanted`.
  using Wanted = std::function<bool(const ProgramBytes& least)>;
  virtual Result<ProgramBytes> bytes(const Graph& graph, const Wanted& wanted) = 0;
};

}  // namespace cleave
