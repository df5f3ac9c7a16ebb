// Every graph that lacks one thing of a graph: a return, a call, a mark, half of a size. Made by other
// code than the reducer's (inspect/reduce_steps.h), to check by brute force that what it leaves is
// 1-minimal.
#pragma once
#include "interp/given_graph.h"

namespace cleave::random {

struct SingleStep {
  std::string what;  // "%h as an input"
  GivenGraph graph;  // verified
};
std::vector<SingleStep> single_steps(const GivenGraph& given);

}  // namespace cleave::random
