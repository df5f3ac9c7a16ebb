// A rematerialization graph as JSON in networkx's node-link format.
//
//   { "graph": {"order": [NAME, ...]},                 optional: the given order; default: by name
//     "nodes": [{"id": NAME, "cost_ram": BYTES, "cost_cpu": TIME}, ...],
//     "links": [{"source": NAME, "target": NAME}, ...] }
//
// NAME is an integer or a string. Other names of keys: `name` for `id`, `out_cost` for `cost_ram`,
// `duration` for `cost_cpu`, `edges` for `links`, `0` and `1` for `source` and `target`; if both
// are there, the first one is used. Sizes and times are integers from 0 up. Other keys are ignored.
#pragma once
#include <cstdint>
#include <string>
#include <variant>
#include <vector>

#include "plan/task_graph.h"

namespace cleave::tool {

using NodeName = std::variant<int64_t, std::string>;

struct RematGraph {
  plan::TaskGraph graph;
  std::vector<NodeName> names;  // by task
  std::vector<plan::TaskId> given_order;
};

// For messages: integers as they are, strings quoted and shortened.
std::string to_text(const NodeName& name);

// Errors (user): the text isn't JSON of this format, two nodes have the same name, a link to no
// node, a size that is negative or no integer, a cycle, an invalid order. Names the node.
Result<RematGraph> parse_remat_graph(const std::string& text);

}  // namespace cleave::tool
