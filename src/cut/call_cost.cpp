#include "cut/call_cost.h"

#include <algorithm>
#include <cmath>

namespace cleave {

namespace {

bool reads_half(const Graph& g, NodeId n) {
  return std::ranges::any_of(g.node(n).inputs, [&](ValueId v) {
    return v.valid() && (g.type(v).dtype == DType::bf16 || g.type(v).dtype == DType::f16);
  });
}

}  // namespace

int64_t work_ns(int64_t flops, int64_t bytes, double gflops, const MachineRates& rates) {
  constexpr double max_ns = 0x1p50;  // so that a sum of many can't overflow
  const double ns = std::max(static_cast<double>(flops) / gflops,
                             static_cast<double>(bytes) / rates.memory_gigabytes);
  return std::max<int64_t>(1,
                           static_cast<int64_t>(rates.call_ns + std::min(std::ceil(ns), max_ns)));
}

int64_t call_ns(const Graph& g, NodeId n, const MachineRates& rates) {
  const Node& node = g.node(n);
  if (has(node.op->traits, Trait::view)) return 0;
  if (!node.op->cost.present()) return work_ns(0, 0, rates.pointwise_gflops, rates);
  const Cost cost = (*node.op->cost)(g.view(n));
  const double gflops = !has(node.op->traits, Trait::compute_intensive) ? rates.pointwise_gflops
                        : reads_half(g, n)                              ? rates.half_product_gflops
                                                                        : rates.product_gflops;
  return work_ns(cost.flops, cost.bytes, gflops, rates);
}

}  // namespace cleave
