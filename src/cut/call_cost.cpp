#include "cut/call_cost.h"

#include <algorithm>

#include "base/work_time.h"

namespace cleave {

namespace {

bool reads_half(const Graph& g, NodeId n) {
  return std::ranges::any_of(g.node(n).inputs, [&](ValueId v) {
    return v.valid() && (g.type(v).dtype == DType::bf16 || g.type(v).dtype == DType::f16);
  });
}

}  // namespace

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
