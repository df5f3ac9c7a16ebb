// Phase 1 of fusion: classifies each call of a graph, and finds the materialized values that it
// reads.
//
//   %a = exp(%x)                 cheap, if little work: computed wherever it is read
//   %t = permute(%a)             view
//   %y = add(%t, %b)             elementwise; materialized reads %x, %b; %x reordered
//   %s = sum(%y; dim=[1])        fold; materialized read %y
//   %g = index_put(%z, %i, %y)   own_loops, if %z is made of nothing: may compute %y
//   %p = mm(%s, %w)              other: a kernel of its own
#pragma once
#include <set>
#include <vector>

#include "ir/graph.h"
#include "loop/read_orders.h"
#include "lower/fuse_cost.h"

namespace cleave {

struct FuseCall {
  // cheap: computed in every group that reads it. waiting: computed in the group of its only
  // reader. own_loops: may compute what it reads, and nothing is computed with it
  // (schedule/own_loops.h).
  enum class Kind : uint8_t { other, view, cheap, waiting, elementwise, fold, own_loops };

  Kind kind = Kind::other;
  int64_t elements = 0;        // of the first result; for a fold and own loops, of the operand
  int64_t position = 0;        // in the graph's order
  int64_t kernels_before = 0;  // unfused calls up to and including this one
  int64_t depth = 0;           // unfused calls one after the other that it waits for
  // Materialized values that it reads, maybe through cheap calls and views; reordered_reads are
  // those of them that it reads in another order than their elements'.
  std::vector<ValueId> materialized_reads, reordered_reads;
  ReadOrders orders;   // of the materialized reads, of an elementwise call, or of a fold's operand
  int64_t flops = 0;   // per element, including the calls computed with it
  size_t through = 1;  // calls computed with it, itself included
  bool is_folded = false;  // a fold reads its results, maybe through cheap calls and views

  bool is_fusible() const { return kind != Kind::other; }
  // Others may be in its group that don't wait for it.
  bool has_open_group() const { return is_fusible() && kind != Kind::own_loops; }
  // It has no group of its own.
  bool is_through() const {
    return kind == Kind::view || kind == Kind::cheap || kind == Kind::waiting;
  }
};

struct FuseCalls {
  std::vector<NodeId> order;      // the graph's
  std::vector<FuseCall> by_node;  // of the nodes at that time
  std::vector<bool> returned;     // by value

  const FuseCall& operator[](NodeId n) const { return by_node[n.v]; }
  // False for nodes that fusion adds.
  bool knows(NodeId n) const { return n.v < by_node.size(); }
  // The call that makes a value; null for a placeholder.
  const FuseCall* maker_of(const Graph& graph, ValueId v) const {
    const NodeId d = graph.value(v).def;
    return d.valid() ? &by_node[d.v] : nullptr;
  }
};

// `again`: calls that are cheap in any case (fuse_again.h).
FuseCalls describe_calls(const Graph& graph, const FuseCosts& costs,
                         const std::set<NodeId>& again = {});

// Whether the call has one result, which isn't returned and is computed from its operands alone,
// and only calls that may be fused read it, directly or through views.
bool may_repeat(const Graph& graph, const FuseCalls& calls, NodeId n);

// ---- used by all three phases
int64_t bytes_of(const Graph& graph, ValueId v);
bool contains(const std::vector<ValueId>& list, ValueId v);
void add_once(std::vector<ValueId>& list, ValueId v);

}  // namespace cleave
