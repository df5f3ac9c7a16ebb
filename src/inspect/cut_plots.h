// The pictures of a cut, from the graph and the cut.
#pragma once
#include "cleave/memory_budget.h"
#include "cut/pytorch_partition.h"
#include "inspect/trade_chart.h"
#include "ir/op_def.h"
#include "remat/cut_graph.h"

namespace cleave {

// All modes on one joint graph: the bound, the exact points, mode pytorch at 0, .05, ..., 1 (its
// Pareto sweep; `options` but for the budget), mode default. Bytes are those of saved activations,
// each storage once; time is that of what runs in both halves, at `rates`.
Result<std::vector<TradeLine>> trade_lines(const Graph& joint, const PytorchOptions& options,
                                           const MachineRates& rates);
TradeLine chosen_trade(const Graph& joint, const Partition& cut, const MachineRates& rates);

// Values that are each made from the one before, with what binds them; the backward needs the last.
std::string path_drawing(const std::string& title, const std::vector<ConstrainedValue>& path);

}  // namespace cleave
