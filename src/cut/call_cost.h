// What running a call once more takes, by a table of machine rates.
//
//   ns = call + max(flops / rate of its kind, bytes / memory rate)
//
// flops and bytes are the operator's `cost`; views take nothing. The rates are a table, not a
// measurement, so that a plan depends on its inputs alone.
#pragma once
#include "ir/graph.h"

namespace cleave {

// A core of 2021 with AVX2 and a share of DRAM; of use as ratios.
struct MachineRates {
  double product_gflops = 90;    // products, convolution, attention
  double pointwise_gflops = 20;  // generated kernels
  double gigabytes = 12;         // a second, read and written
  int64_t call_ns = 400;
};

// In ns, at least 1 for a call that isn't a view; sizes at their hints.
int64_t call_ns(const Graph& g, NodeId n, const MachineRates& rates);

}  // namespace cleave
