// Which values of a graph that is being made a gradient flows through.
#pragma once
#include <vector>

#include "ir/graph.h"

namespace cleave::exported {

class GradientPaths {
 public:
  // of_subgraph: what its caller gives it may have any gradient.
  GradientPaths(const cleave::Graph& graph, bool of_subgraph)
      : graph_(graph), of_subgraph_(of_subgraph) {}

  // Whether the value is floating and depends, through differentiable results, on a placeholder
  // marked grad.
  bool reach(ValueId v);

 private:
  bool begins_at(ValueId placeholder) const;
  bool leads_to(ValueId result) const;

  const cleave::Graph& graph_;
  bool of_subgraph_;
  std::vector<bool> known_;  // of values in the order in which they were made
};

}  // namespace cleave::exported
