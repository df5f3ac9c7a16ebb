#include "lower/lower_group.h"

#include <algorithm>

#include "lower/kernel_thunk.h"
#include "lower/lower_subgraph.h"
#include "schedule/group_check.h"
#include "schedule/group_key.h"

namespace cleave {

using namespace cleave::loop;

namespace {

// Calls of a graph that become a kernel, and the values that they read and make in the graph that
// is being lowered, which may be the same graph.
struct Group {
  const Graph& graph;
  std::vector<NodeId> nodes;
  std::vector<std::pair<ValueId, MemRef>> operands;
  std::vector<std::pair<ValueId, ValueId>> results;  // in `graph`, and in the one that is lowered
  std::string name;
};

LoweredGroup write(Lowering& l, const Group& group,
                   const std::vector<std::pair<ValueId, Bound>>& operands,
                   const std::vector<GroupResult>& results, const MakePartial& add_partial,
                   Kernel& kernel) {
  LoweredGroup made;
  const GroupCode code = write_group(
      group.graph, group.nodes, operands, results, kernel,
      [&](const std::string& name, DType dtype, int64_t elements) {
        made.partials.push_back({dtype, elements});
        return add_partial(name, dtype, elements);
      },
      l.kernels.cut(), l.kernels.choices().loops);
  made.in_place = code.in_place;
  for (const NodeId n : code.streams)
    made.streams.push_back(
        static_cast<size_t>(std::ranges::find(group.nodes, n) - group.nodes.begin()));
  made.may_fail = may_fail(kernel);
  made.kernel = l.kernels.add(std::move(kernel));
  return made;
}

// Adds the thunk that calls the group's kernel. `parts` are storages that hold other values too.
void add_call(Lowering& l, const Group& group, const LoweredGroup& lowered,
              const std::vector<size_t>& parts, KernelCall call) {
  call.kernel = lowered.kernel;
  for (const auto& [operand, result] : lowered.in_place) {
    const InPlace pair{call.storages[static_cast<size_t>(operand)],
                       call.storages[static_cast<size_t>(result)]};
    if (std::ranges::find(parts, pair.result) == parts.end()) call.in_place.push_back(pair);
  }
  for (const size_t at : lowered.streams)
    call.scalars.push_back(group.graph.view(group.nodes[at]).int_attr("stream"));
  l.program.thunks.push_back({group.name, std::move(call), lowered.may_fail});
}

std::string key_of(const Group& group) {
  std::vector<ValueId> operands, results;
  for (const auto& [v, at] : group.operands) operands.push_back(v);
  for (const auto& [inside, v] : group.results) results.push_back(inside);
  return calls_key(group.graph, group.nodes, operands, results);
}

// `key`: of its calls.
void lower(Lowering& l, const Group& group, std::string key) {
  KernelThunk thunk;
  thunk.kernel.name = group.name;
  std::vector<std::pair<ValueId, Bound>> operands;
  for (const auto& [v, at] : group.operands) {
    operands.emplace_back(v, thunk.bind(l.program, at, group.graph.type(v).dtype, Access::read));
    thunk.kernel.work += at.layout.numel();
  }
  std::vector<GroupResult> results;
  std::vector<size_t> parts;
  for (const auto& [inside, v] : group.results) {
    const MemRef& at = l.values.make(v);
    if (l.values.is_part(v)) parts.push_back(at.storage);
    results.push_back(
        {inside, thunk.bind(l.program, at, group.graph.type(inside).dtype, Access::write)});
    thunk.kernel.work += at.layout.numel();
  }
  const auto add_partial = [&](const std::string& name, DType dtype, int64_t elements) {
    const MemRef at{add_storage(l.program, name, dtype, elements), Layout::contiguous({elements})};
    return thunk.bind(l.program, at, dtype, Access::write);
  };
  key += memory_key(operands, results, thunk.kernel);
  const LoweredGroup* lowered = l.kernels.find_group(key);
  if (lowered)
    for (const auto& [dtype, elements] : lowered->partials)
      add_partial(group.name + ".partial", dtype, elements);
  else
    lowered = &l.kernels.add_group(std::move(key),
                                   write(l, group, operands, results, add_partial, thunk.kernel));
  add_call(l, group, *lowered, parts, std::move(thunk.call));
}

// The nodes that compute the values, in order.
std::vector<NodeId> needed_nodes(const Graph& g, const std::vector<ValueId>& values) {
  std::vector<bool> needed(g.node_capacity());
  std::vector<NodeId> out;
  for (const ValueId v : values)
    if (g.value(v).def.valid()) needed[g.value(v).def.v] = true;
  for (NodeId n = g.last_node(); n.valid(); n = g.prev_node(n)) {
    if (!needed[n.v]) continue;
    out.push_back(n);
    for (const ValueId v : g.node(n).inputs)
      if (v.valid() && g.value(v).def.valid()) needed[g.value(v).def.v] = true;
  }
  std::reverse(out.begin(), out.end());
  return out;
}

// Whether the values, returned by the body, are made by calls other than views, and are distinct.
bool are_made_apart(const Graph& body, const std::vector<ValueId>& values) {
  for (size_t k = 0; k < values.size(); ++k) {
    const NodeId def = body.value(values[k]).def;
    if (!def.valid() || !body.node(def).op->lower.present() ||
        std::holds_alternative<ViewRule>((*body.node(def).op->lower)->form) ||
        std::find(values.begin(), values.begin() + static_cast<ptrdiff_t>(k), values[k]) !=
            values.begin() + static_cast<ptrdiff_t>(k))
      return false;
  }
  return true;
}

}  // namespace

void lower_call(Lowering& l, NodeId n) {
  const Node& node = l.graph.node(n);
  const OpView op = l.graph.view(n);
  Group group{l.graph, {n}, {}, {}, l.graph.name(node.out(0))};
  for (const ValueId v : node.inputs)
    if (v.valid()) group.operands.emplace_back(v, l.values.at(v));
  for (uint32_t k = 0; k < node.output_count; ++k)
    if (!op.out_type(static_cast<int>(k)).is_none && l.values.is_wanted(node.out(k)))
      group.results.emplace_back(node.out(k), node.out(k));
  if (!group.results.empty()) lower(l, group, key_of(group));
}

Status lower_group(Lowering& l, NodeId fused) {
  const Node& node = l.graph.node(fused);
  const OpView op = l.graph.view(fused);
  const Graph& body = *op.graph_attr("body");
  Group group{body, {}, {}, {}, l.graph.name(node.out(0))};
  std::vector<ValueId> results;
  for (uint32_t k = 0; k < node.output_count; ++k) {
    if (!l.values.is_wanted(node.out(k))) continue;
    results.push_back(body.returns()[k].value);
    group.results.emplace_back(results.back(), node.out(k));
  }
  if (results.empty()) return {};
  group.nodes = needed_nodes(body, results);
  const MemRefs operands = list_memory(l, op);
  size_t next = 0;
  for (const Placeholder& p : body.placeholders())
    if (p.role != Role::symint) group.operands.emplace_back(p.value, operands[next++]);
  std::string key = key_of(group);
  const auto check = [&] {
    return are_made_apart(body, results) &&
           check_group(body, group.nodes, results, l.kernels.cut()).ok();
  };
  if (!l.kernels.is_group(key, check)) {
    CLEAVE_TRY(const MemRefs made, inline_subgraph(l, body, operands));
    for (uint32_t k = 0; k < node.output_count; ++k) l.values.put(node.out(k), made[k]);
    return {};
  }
  lower(l, group, std::move(key));
  return {};
}

}  // namespace cleave
