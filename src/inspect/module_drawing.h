// The forward of a graph as its groups, from the inputs down.
#pragma once
#include <string>

#include "inspect/call_groups.h"

namespace cleave {

// A box for each segment of a group (call_groups.h), so that curves go down. `weight` by group, in
// [0, 1], is how dark its boxes are; empty: all are alike.
std::string module_drawing(const Graph& g, const CallGroups& groups,
                           const std::vector<double>& weight = {});

// "blocks.0.qkv", or what stands for the rest: "(model)", "(no line)".
std::string group_title(GroupBy by, const std::string& name);

}  // namespace cleave
