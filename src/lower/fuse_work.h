// What the groups of a fused graph do, by the costs of fusion.
#pragma once
#include <unordered_set>

#include "loop/index_math.h"
#include "lower/fuse_known.h"
#include "schedule/index_key.h"

namespace cleave {

// The functions that calls compute, an error function or an exponential, each of one element. Two
// calls of a kernel that need the same one share it:
//
//   y = gelu(x)                x * (erf(x / sqrt(2)) + 1) / 2          the second one
//   d = gelu_backward(g, x)    g * ((erf(x / sqrt(2)) + 1) / 2 + ...)  computes no erf
class SharedFunctions {
 public:
  // The calls of a kernel.
  SharedFunctions(const Graph& graph, const std::vector<NodeId>& nodes);

  // The flops of all calls, each function once.
  int64_t flops() const { return flops_; }
  // Whether the call, of the kernel or not, computes functions, all of which the kernel computes.
  bool are_known(NodeId n);

 private:
  using Functions = std::unordered_set<loop::Expr>;
  Functions functions_of(NodeId n);

  const Graph& graph_;
  std::map<IndexKey, loop::Expr> elements_;  // of operands, as variables
  Functions known_;
  int64_t flops_ = 0;
};

// Of any of the group's calls: it reads no more of a value, even of one with more elements.
int64_t most_elements(const FuseCalls& calls, const FuseGroups& groups, int32_t group);

// The time of all groups that become kernels, in flops: their arithmetic, what they read and write,
// and their starts.
int64_t work_of(const Graph& graph, const FuseCalls& calls, const FuseGroups& groups,
                const FuseCosts& costs, FuseKnown& known);

}  // namespace cleave
