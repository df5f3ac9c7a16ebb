// Every graph that lacks one thing of a graph: a return, a call, a mark, half of a dim. Made by
// other code than the reducer's (inspect/reduce_steps.h), to check by brute force that it leaves
// 1-minimal graphs.
#pragma once
#include "interp/given_graph.h"

namespace cleave::random {

struct SingleStep {
  std::string what;  // "%h as an input"
  GivenGraph graph;  // verified
};
std::vector<SingleStep> single_steps(const GivenGraph& given);

}  // namespace cleave::random
