// The first step of fusion: what each call of a graph is, and which materialised values it reads.
//
//   %a = exp(%x)                 cheap where little work: computed wherever it is read
//   %t = permute(%a)             view
//   %y = add(%t, %b)             elementwise; materialised reads %x, %b; %x reordered
//   %s = sum(%y; dim=[1])        fold; materialised read %y
//   %p = mm(%s, %w)              other: a kernel of its own
#pragma once
#include <vector>

#include "ir/graph.h"
#include "lower/fuse_cost.h"

namespace cleave {

struct FuseCall {
  // cheap: computed in every group that reads it. waiting: read by one call, into whose group it
  // goes.
  enum class Kind : uint8_t { other, view, cheap, waiting, elementwise, fold };

  Kind kind = Kind::other;
  int64_t elements = 0;        // of the first result; of a fold, of the operand
  int64_t position = 0;        // in the graph's order
  int64_t kernels_before = 0;  // kernels that aren't fused, up to here
  // Materialised values that it reads, through cheap calls and views; those of them that it reads
  // in another order than its elements'.
  std::vector<ValueId> materialized_reads, reordered_reads;
  int64_t flops = 0;   // an element, of the calls without a group in front of it too
  size_t through = 1;  // how many those are

  bool is_fusible() const { return kind != Kind::other; }
  // Has no group of its own.
  bool is_through() const {
    return kind == Kind::view || kind == Kind::cheap || kind == Kind::waiting;
  }
};

struct FuseCalls {
  std::vector<NodeId> order;      // the graph's
  std::vector<FuseCall> by_node;  // of the nodes that were there when it was made
  std::vector<bool> returned;     // by value

  const FuseCall& operator[](NodeId n) const { return by_node[n.v]; }
  // Nodes that fusion adds are not known.
  bool knows(NodeId n) const { return n.v < by_node.size(); }
  // The call that makes a value; null for a placeholder.
  const FuseCall* maker_of(const Graph& graph, ValueId v) const {
    const NodeId d = graph.value(v).def;
    return d.valid() ? &by_node[d.v] : nullptr;
  }
};

FuseCalls describe_calls(const Graph& graph, const FuseCosts& costs);

// ---- of all three steps
int64_t bytes_of(const Graph& graph, ValueId v);
bool contains(const std::vector<ValueId>& list, ValueId v);
void add_once(std::vector<ValueId>& list, ValueId v);

}  // namespace cleave
