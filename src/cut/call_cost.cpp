#include "cut/call_cost.h"

#include <algorithm>
#include <cmath>

namespace cleave {

int64_t call_ns(const Graph& g, NodeId n, const MachineRates& rates) {
  const Node& node = g.node(n);
  if (has(node.op->traits, Trait::view)) return 0;
  double ns = 0;
  if (node.op->cost.present()) {
    const Cost cost = (*node.op->cost)(g.view(n));
    const bool product = has(node.op->traits, Trait::compute_intensive);
    const double gflops = product ? rates.product_gflops : rates.pointwise_gflops;
    ns = std::max(static_cast<double>(cost.flops) / gflops,
                  static_cast<double>(cost.bytes) / rates.memory_gigabytes);
  }
  constexpr double max_ns = 0x1p50;  // so that a sum of many can't overflow
  return std::max<int64_t>(1,
                           static_cast<int64_t>(rates.call_ns + std::min(std::ceil(ns), max_ns)));
}

}  // namespace cleave
