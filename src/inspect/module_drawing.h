// The groups of a graph as boxes, in the order of the forward.
#pragma once
#include <string>

#include "inspect/call_groups.h"

namespace cleave {

// `weight` by group, in [0, 1], is how dark its box is; empty: all are alike. A value that goes to
// an earlier group (a weight that the head shares with the embedding) is a dashed curve.
std::string module_drawing(const CallGroups& groups, const std::vector<double>& weight = {});

// "blocks.0.qkv", or what stands for the rest: "(model)", "(no line)".
std::string group_title(GroupBy by, const std::string& name);

}  // namespace cleave
