// The data of the charts of a cut, and a drawing of a conflict between tags.
#pragma once
#include "cleave/memory_budget.h"
#include "cut/pytorch_partition.h"
#include "inspect/trade_chart.h"
#include "ir/op_def.h"
#include "remat/cut_graph.h"

namespace cleave {

// All modes on one joint graph: the lower bound, the exact points, mode pytorch at budgets 0, .05,
// ..., 1 (with the other `options`; `measure` is for the estimator profile), mode default. Bytes
// are those of saved activations, each storage once; time is that of the calls that run in both
// halves, at `rates`.
Result<std::vector<TradeLine>> trade_lines(const Graph& joint, const PytorchOptions& options,
                                           const MachineRates& rates,
                                           const MeasureCall& measure = {});
TradeLine chosen_trade(const Graph& joint, const Partition& cut, const MachineRates& rates);

// A conflict (CutGraph::conflict): values that are each made from the one before, and the
// constraint on each; the backward needs the last.
std::string path_drawing(const std::string& title, const std::vector<ConstrainedValue>& path);

}  // namespace cleave
