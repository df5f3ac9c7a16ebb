// The partition of DESIGN.md section 7 as a network: what to save, what to recompute.
//
// For call n with operands u and results v, at a price for a byte:
//
//     source ── cost ──► n ── bytes of v ──► v ── infinite ──► the readers of v, and the sink where
//                        ▲                                     the backward reads v
//                        └── infinite ── u
//
//     n on the sink's side: recomputed (its operands are there too: available)
//     v on the sink's side: available, so saved where its call is on the source's side
//
// Smaller, with the same cuts: a value needs no node of its own when it has one reader or when the
// backward reads it; calls and values whose side is fixed (pinned; must be recomputed; of no use)
// are taken out, and what they fix goes into the demands. The nodes are numbered along the arcs.
#pragma once
#include <optional>

#include "flow/forward_graph.h"
#include "flow/trade_network.h"

namespace cleave::flow {

struct PartitionNetwork {
  enum : int32_t { never = -1, always = -2 };  // recomputed, at any price

  TradeNetwork trade;
  std::vector<int32_t> node_of_call;  // a node, or never, or always
};

// What one choice takes and costs.
struct PartitionChoice {
  std::vector<uint8_t> recompute;  // by call
  std::vector<uint8_t> save;       // by value
  int64_t bytes = 0, cost = 0;     // of the values saved, of the calls recomputed
};

// Values v0, v1, ..., vk that can't be saved, where v0 is a placeholder or of a pinned call, each
// other one is a result of a call that reads the one before, and the backward needs vk: vk can
// neither be saved nor recomputed. The shortest such list; nothing where every need can be met.
std::optional<std::vector<int32_t>> find_conflict(const ForwardGraph& graph);

// Errors (user): what check_forward_graph finds, or a conflict, by its values' numbers.
// O(calls + operands + values).
Result<PartitionNetwork> build_partition_network(const ForwardGraph& graph);

// The choice that recomputes these calls: saved is each value that the backward or a recomputed
// call reads and that no recomputed call gives.
PartitionChoice choice_of(const ForwardGraph& graph, std::vector<uint8_t> recompute);

// The best choice where a byte is worth `price`; of equal ones the one that recomputes most
// (Nearest::source) or least (Nearest::sink).
Result<PartitionChoice> cut_partition(const ForwardGraph& graph, Price price, Nearest nearest);

}  // namespace cleave::flow
