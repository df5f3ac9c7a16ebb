// A public rematerialization graph: JSON in networkx's node-link form.
//
//   { "graph": {"order": [NAME, ...]},                 optional: the given order; else by name
//     "nodes": [{"id": NAME, "cost_ram": BYTES, "cost_cpu": TIME}, ...],
//     "links": [{"source": NAME, "target": NAME}, ...] }
//
// NAME is an integer or a string. `id` may be `name`, `cost_ram` `out_cost`, `cost_cpu` `duration`,
// `source` and `target` `0` and `1`; the first form counts where both are there. Sizes and times
// are integers from 0 up. Other keys are passed over.
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

// Errors (user): no JSON of this form, a name that is there twice, a link to no node, a size below
// 0 or not an integer, a cycle, an order that isn't one. Each names the node.
Result<RematGraph> parse_remat_graph(const std::string& text);

}  // namespace cleave::tool
