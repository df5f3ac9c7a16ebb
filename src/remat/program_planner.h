// What the code here asks about programs: how a graph is prepared and lowered, the memory that it
// takes, and machine rates. Implemented in compile/stage_planner.h.
#pragma once
#include <functional>
#include <optional>

#include "cut/call_cost.h"
#include "ir/graph.h"
#include "ir/op_def.h"
#include "remat/program_tasks.h"

namespace cleave {

// Bytes of a program, each value rounded up to 64. If offsets were planned, the arena is exact;
// else it is the most that is alive at once, a lower bound for any offsets.
struct ProgramBytes {
  int64_t placeholders = 0, arena = 0;
  bool is_exact = false;
  int64_t peak() const { return placeholders + arena; }
};

class ProgramPlanner {
 public:
  virtual ~ProgramPlanner() = default;
  // The cost table that all decisions use.
  virtual const MachineRates& rates() const = 0;
  // What calls are made of.
  virtual const OpRegistry& ops() const = 0;
  // Fuses the calls of a decomposed graph.
  virtual Status fuse(Graph& graph) = 0;
  // Runs the stages from verify to fuse on a half of a cut, without optional passes.
  virtual Status prepare_cut(Graph& graph) = 0;
  // What each call of a fused graph reads, makes and needs.
  virtual Result<ProgramCalls> calls(const Graph& graph) = 0;
  // The bytes of a fused graph; offsets are planned only if `wanted` accepts the lower bound.
  using Wanted = std::function<bool(const ProgramBytes& least)>;
  virtual Result<ProgramBytes> bytes(const Graph& graph, const Wanted& wanted) = 0;
  // The bytes of a fused graph some of whose values lie in the host's memory for a while, so that
  // the peak is at most `room`; nullopt: that isn't found, or there is no such memory.
  struct Offloaded {
    ProgramBytes bytes;
    int64_t copied = 0;  // out, and in again
  };
  virtual Result<std::optional<Offloaded>> offloaded(const Graph& /*graph*/, int64_t /*room*/) {
    return std::optional<Offloaded>();
  }
};

}  // namespace cleave
