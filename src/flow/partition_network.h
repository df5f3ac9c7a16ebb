// The choice of what to save and what to recompute, as a minimum cut.
//
// For call n with operands u and results v, at a price for a byte:
//
//     source ── cost ──► n ── bytes of v ──► v ── infinite ──► the readers of v, and the sink where
//                        ▲                                     the backward reads v
//                        └── infinite ── u
//
//     n on the sink's side: recomputed; its operands are on that side too, so they are available
//     v on the sink's side: available; saved if its call is on the source's side
//
// The network is made smaller without changing the cuts: a value gets a node of its own only if it
// has several readers and the backward doesn't read it; calls and values whose side is fixed
// (pinned, must be recomputed, not needed) are left out, and their arcs become demands. Nodes are
// numbered in the direction of the arcs.
#pragma once
#include <optional>

#include "flow/forward_graph.h"
#include "flow/trade_network.h"

namespace cleave::flow {

struct PartitionNetwork {
  enum : int32_t { never = -1, always = -2 };  // recomputed, whatever the price

  TradeNetwork trade;
  std::vector<int32_t> node_of_call;  // a node, or never, or always
};

// Which calls are recomputed and which values are saved.
struct PartitionChoice {
  std::vector<uint8_t> recompute;  // by call
  std::vector<uint8_t> save;       // by value
  int64_t bytes = 0, cost = 0;     // of the values saved, of the calls recomputed
};

// Values v0, v1, ..., vk that can't be saved, where v0 is a placeholder or a result of a pinned
// call, each other one is a result of a call that reads the one before, and the backward needs vk:
// so vk can be neither saved nor recomputed. The shortest such list; nullopt if there is no
// conflict.
std::optional<std::vector<int32_t>> find_conflict(const ForwardGraph& graph);

// Errors (user): those of check_forward_graph; a conflict, whose values are named by index.
// O(calls + operands + values).
Result<PartitionNetwork> build_partition_network(const ForwardGraph& graph);

// The choice that recomputes these calls. It saves each value that the backward or a recomputed
// call reads and that isn't the result of a recomputed call.
PartitionChoice choice_of(const ForwardGraph& graph, std::vector<uint8_t> recompute);

// The best choice where a byte costs `price`; of equal ones the one that recomputes most
// (Nearest::source) or least (Nearest::sink).
Result<PartitionChoice> cut_partition(const ForwardGraph& graph, Price price, Nearest nearest);

}  // namespace cleave::flow
