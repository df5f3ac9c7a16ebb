// Moves calls of frozen values out of the graphs of cond and while_loop, in front of the call,
// where fold_frozen finds them.
//
//   %y = cond(%p, [%x, %w]; then=@up, ...)          %e = exp(%w)
//     @up(%x, %w):  %e = exp(%w)              ->    %y = cond(%p, [%x, %e]; then=@up_1, ...)
//                   %z = mul(%x, %e)                  @up_1(%x, %e):  %z = mul(%x, %e)
//
// What stays is what stays outside (frozen_values.h), and what may fail or not end: a graph may
// never run (control_bodies.h).
#include <algorithm>
#include <unordered_map>

#include "ir/edit.h"
#include "ir/subgraph.h"
#include "pass/freeze/control_bodies.h"
#include "pass/freeze/frozen_values.h"
#include "pass/passes.h"

namespace cleave {
namespace {

// The calls that values depend on, in order.
std::vector<NodeId> calls_of(const Graph& g, const Values& values) {
  std::vector<bool> needed(g.value_capacity());
  for (const ValueId v : values) needed[v.v] = true;
  std::vector<NodeId> calls;
  for (NodeId n = g.last_node(); n.valid(); n = g.prev_node(n)) {
    const Node& node = g.node(n);
    bool is_needed = false;
    for (uint32_t k = 0; k < node.output_count; ++k) is_needed |= needed[node.out(k).v];
    if (!is_needed) continue;
    calls.push_back(n);
    for (const ValueId v : node.inputs)
      if (v.valid()) needed[v.v] = true;
  }
  std::ranges::reverse(calls);
  return calls;
}

// Copies what computes the values into g in front of the call; returns the copies of the values.
Result<Values> outside(Graph& g, const ControlCall& call, const Graph& body, const Values& values) {
  std::unordered_map<uint32_t, ValueId> map;
  const Values parameters = parameters_of(body);
  for (size_t k = 0; k < call.operands.size(); ++k) map[parameters[k].v] = call.operands[k];
  const std::vector<NodeId> calls = calls_of(body, values);
  CLEAVE_CHECK(copy_nodes(body, calls, g, map));
  for (const NodeId n : calls) g.move_before(g.value(map.at(body.node(n).out(0).v)).def, call.node);
  Values out;
  for (const ValueId v : values) out.push_back(map.at(v.v));
  return out;
}

Result<int64_t> hoist(Graph& g, ControlCall& call) {
  int64_t count = 0;
  for (const ControlBody& body : call.graphs) {
    const Values values = foldable_values(*body.graph, body.frozen());
    CLEAVE_TRY(const Values copies, outside(g, call, *body.graph, values));
    for (size_t k = 0; k < values.size(); ++k) {
      Type type = body.graph->type(values[k]);
      type.strides.reset();
      const std::string name = body.graph->name(values[k]);
      CLEAVE_CHECK(body.graph->rename(values[k], body.graph->fresh_name("computed_outside")));
      for (const ControlBody& each : call.graphs) {
        CLEAVE_TRY(const ValueId given,
                   each.graph->add_placeholder(Role::input, each.graph->fresh_name(name), type));
        if (&each == &body) each.graph->replace_uses(values[k], given);
      }
      call.added.push_back(copies[k]);
      ++count;
    }
  }
  return count;
}

Result<PassCount> run(Graph& g, const OpRegistry&) {
  PassCount count;
  CLEAVE_TRY(count.matches, change_bodies(g, frozen_values(g), hoist));
  count.nodes = count.matches;
  return count;
}

}  // namespace

Pass hoist_frozen() {
  return {.name = "hoist_frozen",
          .summary = "calls of frozen values leave the graphs of cond and while_loop",
          .run = run,
          .outermost = true};
}

}  // namespace cleave
