// --plot DIR: the pictures of a cut as files.
#pragma once
#include "compile/stage_options.h"
#include "cut/pytorch_partition.h"

namespace cleave::tool {

// Writes frontier.svg; `joint` is the graph before simplification, `chosen` may be null.
Status plot_frontier(const std::string& folder, const Graph& joint, const PytorchOptions& options,
                     const MachineRates& rates, const Partition* chosen,
                     const MeasureCall& measure = {});
// Writes memory.svg, if the halves can be lowered, and cut.svg, if they are small enough; reports
// on stderr what is left out.
Status plot_cut(const std::string& folder, const Graph& joint, const Partition& cut,
                std::optional<int64_t> budget, const OpRegistry& ops, const StageOptions& options);
// Writes, if `joint` has no finite cut, network.dot and network.svg; of mode exact (`pytorch` is
// null) also conflict.svg. Returns the names of what was written; empty: nothing was.
Result<std::string> plot_conflict(const std::string& folder, const Graph& joint,
                                  const PytorchOptions* pytorch, const MachineRates& rates);

}  // namespace cleave::tool
