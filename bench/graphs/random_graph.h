// Random forward graphs of any size, the same for the same seed on every machine, for the
// benchmarks of cuts, orders and rematerialization.
//
//   transformer  blocks of 20 calls: norm, projections, attention with views, dropout, residuals;
//                each block has its own number of tokens and its own width
//   layered      layers of 10 to 30 calls, each reading 1 to 4 values of the two layers before
//   wide         each call reads 1 to 3 values of any earlier calls
//
// Bytes are those of f32 tensors, costs are in ns: 200 flops or 30 bytes moved take 1 ns, within
// 10% at random. `needed` are the values that the operators' gradients read.
#pragma once
#include "flow/forward_graph.h"

namespace cleave::bench {

enum class GraphKind : uint8_t { transformer, layered, wide };
inline constexpr GraphKind graph_kinds[] = {GraphKind::transformer, GraphKind::layered,
                                            GraphKind::wide};
const char* name_of(GraphKind kind);

// `calls` of them, at least 1. Values: the placeholders, then the calls' results in order.
flow::ForwardGraph random_graph(GraphKind kind, int32_t calls, uint64_t seed = 1);

// Splitmix64: the same numbers everywhere, unlike the standard library's distributions.
class Random {
 public:
  explicit Random(uint64_t seed) : state_(seed) {}
  uint64_t next();
  // In [low, high].
  int64_t between(int64_t low, int64_t high) {
    return low + static_cast<int64_t>(next() % static_cast<uint64_t>(high - low + 1));
  }

 private:
  uint64_t state_;
};

}  // namespace cleave::bench
