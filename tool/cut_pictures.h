// --plot DIR: the pictures of a cut as files.
#pragma once
#include "compile/compile_options.h"
#include "cut/pytorch_partition.h"

namespace cleave::tool {

// frontier.svg; `joint` as it was read, `chosen` may be null.
Status plot_frontier(const std::string& folder, const Graph& joint, const PytorchOptions& options,
                     const MachineRates& rates, const Partition* chosen);
// memory.svg, where the halves can be lowered, and cut.svg, where they are small enough; says on
// stderr what is left out.
Status plot_cut(const std::string& folder, const Graph& joint, const Partition& cut,
                std::optional<int64_t> budget, const OpRegistry& ops,
                const CompileOptions& options);
// conflict.svg, where the tags of `joint` contradict each other; else nothing.
Status plot_conflict(const std::string& folder, const Graph& joint);

}  // namespace cleave::tool
