#include "remat/cut_graph.h"

#include "cut/tags.h"
#include "flow/partition_network.h"
#include "ir/subgraph.h"

namespace cleave {
namespace {

bool is_view(const Node& n) { return has(n.op->traits, Trait::view); }

size_t at(int32_t i) { return static_cast<size_t>(i); }

std::string_view text_of(Recompute policy) {
  switch (policy) {
    case Recompute::must_save: return "must_save";
    case Recompute::prefer_save: return "prefer_save";
    case Recompute::prefer_recompute: return "prefer_recompute";
    case Recompute::must_recompute: return "must_recompute";
    case Recompute::unset: break;
  }
  return "unset";
}

}  // namespace

Result<CutGraph> CutGraph::make(const JointView& joint, const MachineRates& rates,
                                Returned returned) {
  CutGraph out(joint);
  out.add_values(rates, returned);
  out.add_constraints();
  CLEAVE_CHECK(flow::check_forward_graph(out.flow_));
  CLEAVE_CHECK(out.refuse_conflict());
  return out;
}

void CutGraph::add_values(const MachineRates& rates, Returned returned) {
  const Graph& g = joint_->graph();
  call_of_.assign(g.node_capacity(), -1);
  value_of_.assign(g.value_capacity(), -1);
  for (const Placeholder& p : g.placeholders()) {
    if (p.role == Role::tangent) continue;
    value_of_[p.value.v] = flow_.placeholders++;
    flow_.bytes.push_back(0);
    values_.push_back(p.value);
  }
  flow_.result_begin = {flow_.placeholders};
  for (NodeId n = g.first_node(); n.valid(); n = g.next_node(n))
    if (joint_->half(n) == Half::forward || joint_->half(n) == Half::either) add_call(n, rates);
  for (const Return& r : g.returns())
    if (const int32_t v = value(r.value); v >= 0 && returned == Returned::free)
      flow_.bytes[at(v)] = 0;
  flow_.needed.assign(flow_.bytes.size(), 0);
  flow_.unsavable.assign(flow_.bytes.size(), 0);
  const auto need = [&](ValueId v) {
    if (v.valid() && value(v) >= 0) flow_.needed[at(value(v))] = 1;
  };
  for (NodeId n = g.first_node(); n.valid(); n = g.next_node(n))
    if (joint_->half(n) == Half::backward)
      for (const ValueId in : g.node(n).inputs) need(in);
  for (const Return& r : g.returns())
    if (r.kind == ReturnKind::grad) need(r.value);
}

void CutGraph::add_call(NodeId n, const MachineRates& rates) {
  const Graph& g = joint_->graph();
  const Node& node = g.node(n);
  call_of_[n.v] = flow_.calls();
  nodes_.push_back(n);
  for (const ValueId in : node.inputs)
    if (in.valid()) flow_.operand.push_back(value(in));
  flow_.operand_begin.push_back(static_cast<int32_t>(flow_.operand.size()));
  flow_.cost.push_back(joint_->half(n) == Half::forward ? call_ns(g, n, rates) : 0);
  flow_.pinned.push_back(runs_once(traits_of(node)));
  for (uint32_t k = 0; k < node.output_count; ++k) {
    value_of_[node.out(k).v] = flow_.values();
    flow_.bytes.push_back(joint_->bytes(node.out(k)));
    values_.push_back(node.out(k));
  }
  flow_.result_begin.push_back(flow_.values());
}

// From tags, borders of checkpointed regions, and views.
void CutGraph::add_constraints() {
  const Graph& g = joint_->graph();
  for (int32_t n = 0; n < flow_.calls(); ++n) {
    const Node& node = g.node(nodes_[at(n)]);
    // Calls of the gradient have the tags of the calls whose gradients they compute.
    const bool tagged = joint_->half(nodes_[at(n)]) == Half::forward;
    int32_t first = flow_.result_begin[at(n)];
    const int32_t end = flow_.result_begin[at(n) + 1];
    if (tagged && asks_save(node)) {
      const NodeId base = g.value(joint_->storage(node.out(0))).def;
      if (base.valid()) flow_.pinned[at(call(base))] = 1;
    }
    const bool again = tagged && asks_recompute(node) && !flow_.pinned[at(n)];
    if (again && feeds_later_region(*joint_, nodes_[at(n)])) {
      flow_.pinned[at(n)] = !is_view(node);
      continue;
    }
    for (; first < end; ++first) flow_.unsavable[at(first)] = again || is_view(node);
  }
}

std::string CutGraph::constraint_on(ValueId v) const {
  const Graph& g = joint_->graph();
  const NodeId def = g.value(v).def;
  if (!def.valid()) return "a placeholder";
  const Node& node = g.node(def);
  if (has(traits_of(node), Trait::effect)) return "its call has an effect";
  if (has(traits_of(node), Trait::collective)) return "its call meets other ranks";
  if (is_view(node)) return "a view: its base is saved instead";
  if (asks_recompute(node) && feeds_later_region(*joint_, def))
    return "the border of a checkpointed region";
  if (node.tag.policy != Recompute::unset && joint_->half(def) == Half::forward)
    return fmt::format("tagged {}", text_of(node.tag.policy));
  if (call(def) >= 0 && flow_.pinned[at(call(def))]) return "a view of it is tagged must_save";
  return "";
}

std::vector<ConstrainedValue> CutGraph::conflict(const JointView& joint) {
  CutGraph graph(joint);
  graph.add_values({}, Returned::free);
  graph.add_constraints();
  return graph.conflict();
}

std::vector<ConstrainedValue> CutGraph::conflict() const {
  std::vector<ConstrainedValue> path;
  if (const auto values = flow::find_conflict(flow_))
    for (const int32_t v : *values)
      path.push_back({joint_->graph().name(values_[at(v)]), constraint_on(values_[at(v)])});
  return path;
}

std::optional<flow::FailedNetwork> CutGraph::failed_network(const JointView& joint,
                                                            const MachineRates& rates) {
  CutGraph graph(joint);
  graph.add_values(rates, Returned::free);
  graph.add_constraints();
  flow::FailedNetwork out = graph.network();
  const std::optional<flow::InfinitePath> path = flow::find_infinite_path(out.network);
  if (!path) return std::nullopt;
  out.path = *path;
  return out;
}

// Placeholders, then each call before its results.
flow::FailedNetwork CutGraph::network() const {
  const Graph& g = joint_->graph();
  flow::FailedNetwork out;
  std::vector<int32_t> of_value(at(flow_.values()));
  const auto add = [&](std::string name, std::string note, flow::Capacity source) {
    out.network.source.push_back(source);
    out.network.sink.push_back(0);
    out.names.push_back(std::move(name));
    out.notes.push_back(std::move(note));
    return out.network.nodes() - 1;
  };
  const auto add_value = [&](int32_t v, flow::Capacity source) {
    const ValueId value = values_[at(v)];
    of_value[at(v)] = add("%" + g.name(value), constraint_on(value), source);
    if (flow_.needed[at(v)]) out.network.sink.back() = flow::infinite;
  };
  for (int32_t v = 0; v < flow_.placeholders; ++v)
    add_value(v, flow_.unsavable[at(v)] ? flow::infinite : flow_.bytes[at(v)]);
  for (int32_t n = 0; n < flow_.calls(); ++n) {
    const Node& node = g.node(nodes_[at(n)]);
    const int32_t call = add(node.op->name, flow_.pinned[at(n)] ? "must not run again" : "",
                             flow_.pinned[at(n)] ? flow::infinite : flow_.cost[at(n)]);
    for (int32_t k = flow_.operand_begin[at(n)]; k < flow_.operand_begin[at(n) + 1]; ++k)
      out.network.arcs.push_back({of_value[at(flow_.operand[at(k)])], call, flow::infinite});
    for (int32_t v = flow_.result_begin[at(n)]; v < flow_.result_begin[at(n) + 1]; ++v) {
      add_value(v, 0);
      out.network.arcs.push_back(
          {call, of_value[at(v)], flow_.unsavable[at(v)] ? flow::infinite : flow_.bytes[at(v)]});
    }
  }
  return out;
}

Status CutGraph::refuse_conflict() const {
  const std::vector<ConstrainedValue> path = conflict();
  if (path.empty()) return {};
  std::string lines;
  for (const ConstrainedValue& v : path) lines += fmt::format("\n  %{}: {}", v.name, v.constraint);
  return user_error(
      "@{}: the backward needs %{}, which can neither be saved nor recomputed; each is made from "
      "the one before:{}\n  Take a tag away from one of them.",
      joint_->graph().name(), path.back().name, lines);
}

}  // namespace cleave
