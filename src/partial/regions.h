// Takes groups of calls out of a graph: each becomes a graph of its own, and one call of it.
#pragma once
#include "partial/grouping.h"

namespace cleave {

struct Lowered {
  Graph graph;  // with the placeholders and returns of the given one
  // By node of `graph`: the number of its region; -1: outside.
  std::vector<int32_t> region_of;
  std::vector<std::string> tags;  // by region
};

// A step of the groups that is to be a call; nullopt: its calls stay outside.
using TagOf = std::function<std::optional<std::string>(const Graph& region)>;

// Of the values of a region, those cross that are read outside of it or returned. What it reads is
// handed in, in the order of its first readers. Its graph has the types, strides, sources and tags
// of the calls. A group of which nothing crosses stays outside. Errors: bug, if a type changes.
Result<Lowered> take_regions(const Graph& g, const OpRegistry& ops, const Groups& groups,
                             const TagOf& tag_of);

}  // namespace cleave
