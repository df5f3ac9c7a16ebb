// The graphs of cond and while_loop, for passes over frozen programs: a pass sees which of a
// graph's values are frozen, as the call hands them over, and may hand over more.
//
//   %y = cond(%p, [%x, %w]; then=@up, otherwise=@down)      w frozen: in @up its parameter is, too
//
// What a loop carries isn't frozen. A graph may be read by several calls, which hand over other
// values; so each call that is changed gets copies under names of their own. Operands that no copy
// reads any more go.
#pragma once
#include <functional>
#include <memory>

#include "ir/graph.h"
#include "pass/pass.h"

namespace cleave {

struct ControlBody {
  std::shared_ptr<Graph> graph;  // a copy, to be changed
  std::vector<bool> given;       // by parameter: it has the same value in each call and run
  // By value: what depends on these alone. Calls that may fail on the values of their operands
  // aren't among them, as the graph may not run, nor are calls with graphs of their own, which may
  // not end.
  std::vector<bool> frozen() const;
};

struct ControlCall {
  NodeId node;
  Values operands;                  // of the list
  std::vector<ControlBody> graphs;  // different ones
  Values added = {};                // operands to hand over as well, of which each graph has been
                                    // given a parameter
};

// Calls change(g, call) for each cond and while_loop of g and of their graphs, inner ones first,
// which returns how many changes it made. frozen: by value of g. Returns their sum.
using ChangeBodies = std::function<Result<int64_t>(Graph& g, ControlCall& call)>;
Result<int64_t> change_bodies(Graph& g, const std::vector<bool>& frozen,
                              const ChangeBodies& change);

// Runs change on g and on the graphs of its calls, where it is told by value what is frozen.
using ChangeGraph = std::function<Result<PassCount>(Graph& g, std::vector<bool> frozen)>;
Result<PassCount> change_with_bodies(Graph& g, const ChangeGraph& change);

}  // namespace cleave
