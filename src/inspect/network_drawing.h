// The network of a cut that failed, its conflict in red: an infinite path from source to sink.
#pragma once
#include <string>

#include "flow/failed_network.h"

namespace cleave {

constexpr size_t largest_network_drawing = 200;  // nodes

// The source, the sink, and the nodes that are nearest to the conflict, at most
// largest_network_drawing; a capacity is written where it is finite.
std::string network_svg(const std::string& title, const flow::FailedNetwork& failed);
// All of it, in Graphviz's language, with all capacities.
std::string network_dot(const std::string& name, const flow::FailedNetwork& failed);

}  // namespace cleave
