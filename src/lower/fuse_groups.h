// Phase 2 of fusion: groups the calls (fuse.h says how).
//
//   order:   a = sin(x)    p = mm(a, a)    b = exp(x)    c = mul(b, p)
//   groups:  0: a, b       1: p            2: c
//
// Calls that aren't fused are groups of their own.
#pragma once
#include "lower/fuse_calls.h"
#include "schedule/fold_form.h"

namespace cleave {

struct FuseGroup {
  std::vector<NodeId> nodes;  // in the graph's order
  NodeId at;                  // the group runs at its position
  int64_t elements = 0;       // of its values before any fold
  size_t calls = 0;           // that it computes, inlined ones included
  std::vector<FoldForm> forms;
  std::vector<ValueId> reads;            // materialized, each once
  std::vector<ValueId> reordered_reads;  // those that some call reads in another order
  ReadOrders orders;  // where its elements' values lie in what it reads and makes, if that is known
  bool is_turned = false;  // some of its calls are computed in another order than the first one
  std::vector<int32_t> readers;  // groups that read it; may repeat
  int64_t first_kernel = 0, last_kernel = 0;
  int32_t merged_into = -1;
};

struct FuseGroups {
  std::vector<FuseGroup> all;    // merged ones too, which have no nodes
  std::vector<int32_t> by_node;  // -1: computed where it is read

  // The group that g has become by merging.
  int32_t find(int32_t g) const {
    while (g >= 0 && all[g].merged_into >= 0) g = all[g].merged_into;
    return g;
  }
  int32_t of(NodeId n) const { return find(by_node[n.v]); }
  // The group of the call that makes the value; -1 for a placeholder.
  int32_t of(const Graph& graph, ValueId v) const {
    const NodeId d = graph.value(v).def;
    return d.valid() ? of(d) : -1;
  }
  // Whether other calls may join the group.
  bool is_open(const FuseCalls& calls, int32_t g) const {
    return g >= 0 && calls[all[g].nodes[0]].has_open_group();
  }
  // Whether the group becomes a `fused` call.
  bool is_fusible(const FuseCalls& calls, int32_t g) const {
    return g >= 0 && calls[all[g].nodes[0]].is_fusible();
  }
};

// Which groups a call may join for what it reads: that which read the value last; or the last ones
// of each number of elements too, where another gathers rows of it, say. `merged`: one of the last
// few, and groups that read the same value merge where a call of one reads what the other does,
// too.
//
//   a = norm(x)    b = sum(y)    c = max(x, y)        c joins a, and b merges with both
struct FuseReaders {
  bool of_size = false, merged = false;
};

FuseGroups group_calls(const Graph& graph, const FuseCalls& calls, const FuseCosts& costs,
                       FuseReaders readers = {});

// Whether the value is returned, or read by a call of another group, directly or through views and
// inlined calls.
bool is_read_outside(const Graph& graph, const FuseCalls& calls, const FuseGroups& groups,
                     ValueId v, int32_t g);

}  // namespace cleave
