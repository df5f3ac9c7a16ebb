// Branches and loops: the steps of subgraphs, and jumps (drawings in program.h).
//
// A branch's results are made in the memory of the call's results. A loop's carried values have a
// memory each, to which every iteration gives their next values.
#include <algorithm>

#include "ir/subgraph.h"
#include "lower/lower_node.h"
#include "lower/step_uses.h"

namespace cleave {
namespace {

// Graphs that refer twice to graphs that refer twice ...: a small text can ask for 2^64 steps.
constexpr size_t max_steps = 1 << 18;

}  // namespace

Lowering::Locations Lowering::list_locations(const OpView& op) const {
  Locations out;
  for (int k = 0; k < op.list_size(); ++k) out.push_back(location(op.list_in(k)));
  return out;
}

Result<Lowering::Locations> Lowering::inlined(const Graph& g, const Locations& operands) {
  if (out_.steps.size() > max_steps)
    return unsupported(
        "more than {} steps once subgraphs stand in their places "
        "(src/lower/lower_subgraph.cpp)",
        max_steps);
  Lowering inner(g, output_);
  size_t next = 0;
  for (const Placeholder& p : g.placeholders()) {
    if (p.role != Role::symint) {
      inner.at_[p.value.v] = operands[next++];
      continue;
    }
    const auto outer = at_.find(graph_.find(g.name(p.value)).v);
    if (outer == at_.end())
      return bug("@{}: its caller has no symint {}", g.name(), g.name(p.value));
    inner.at_[p.value.v] = outer->second;
  }
  CLEAVE_CHECK(inner.nodes());
  Locations results;
  for (const Return& r : g.returns()) results.push_back(inner.location(r.value));
  return results;
}

std::optional<size_t> Lowering::own_storage(const Locations& values, size_t k, size_t own) const {
  const Location& l = values[k];
  if (l.storage < own || !l.layout.is_contiguous() ||
      out_.storages[l.storage].elements != l.layout.numel())
    return std::nullopt;
  const auto shares = [&](const Location& other) { return other.storage == l.storage; };
  if (std::count_if(values.begin(), values.end(), shares) != 1) return std::nullopt;
  return l.storage;
}

void Lowering::replace(size_t first_step, size_t from, size_t to) {
  for (size_t i = first_step; i < out_.steps.size(); ++i)
    rename_storages(out_.steps[i], [&](size_t s) { return s == from ? to : s; });
}

size_t Lowering::jump(const std::string& name, std::optional<Location> unless) {
  JumpCall call;
  if (unless) call.unless = {unless->storage, unless->layout.offset};
  out_.steps.push_back({name, call, false});
  return out_.steps.size() - 1;
}

void Lowering::set_target(size_t jump) {
  std::get<JumpCall>(out_.steps[jump].work).target = out_.steps.size();
}

Status Lowering::branch(NodeId n, const OpView& op) {
  const Node& node = graph_.node(n);
  const Locations operands = list_locations(op);
  const std::string& name = graph_.name(node.out(0));
  for (uint32_t k = 0; k < node.output_count; ++k)
    at_[node.out(k).v] = new_dense(graph_.name(node.out(k)), graph_.type(node.out(k)));
  const size_t to_otherwise = jump(name, location(op.in(0)));
  CLEAVE_CHECK(arm(*op.graph_attr("then"), operands, n));
  const size_t to_end = jump(name, {});
  set_target(to_otherwise);
  CLEAVE_CHECK(arm(*op.graph_attr("otherwise"), operands, n));
  set_target(to_end);
  return {};
}

Status Lowering::arm(const Graph& g, const Locations& operands, NodeId n) {
  const size_t first = out_.steps.size(), own = out_.storages.size();
  CLEAVE_TRY(const Locations values, inlined(g, operands));
  for (size_t k = 0; k < values.size(); ++k) {
    const ValueId v = graph_.node(n).out(static_cast<uint32_t>(k));
    if (!is_wanted(v)) continue;
    const Location& to = location(v);
    if (const auto storage = own_storage(values, k, own))
      replace(first, *storage, to.storage);
    else
      copy(values[k], to, graph_.type(v).dtype, graph_.name(v));
  }
  return {};
}

// The next values are given to the carried ones side by side: what lies in the memory of one of
// them (an exchange, a view) is put aside first. One that is made last of all is made in place.
Status Lowering::loop(NodeId n, const OpView& op) {
  const Node& node = graph_.node(n);
  const std::string& name = graph_.name(node.out(0));
  Locations operands = list_locations(op);
  const size_t carried = node.output_count, state = out_.storages.size();
  for (uint32_t k = 0; k < carried; ++k) {
    const ValueId v = node.out(k);
    at_[v.v] = new_dense(graph_.name(v), graph_.type(v));
  }
  const auto is_state = [&](const Location& l) {
    return l.storage >= state && l.storage < state + carried;
  };
  for (uint32_t k = 0; k < carried; ++k) {
    const ValueId v = node.out(k);
    copy(operands[k], at_[v.v], graph_.type(v).dtype, graph_.name(v));
    operands[k] = at_[v.v];
  }
  const size_t begin = out_.steps.size();
  CLEAVE_TRY(const Locations flag, inlined(*op.graph_attr("condition"), operands));
  const size_t to_end = jump(name, flag[0]);
  const size_t first = out_.steps.size(), own = out_.storages.size();
  CLEAVE_TRY(Locations next, inlined(*op.graph_attr("body"), operands));

  const auto stays = [&](size_t k) {
    return next[k].storage == operands[k].storage && next[k].layout == operands[k].layout;
  };
  for (uint32_t k = 0; k < carried; ++k)
    if (is_state(next[k]) && !stays(k))
      next[k] = dense_copy(next[k], graph_.type(node.out(k)).dtype, graph_.name(node.out(k)));
  for (uint32_t k = 0; k < carried; ++k) {
    if (stays(k)) continue;
    const size_t to = operands[k].storage;
    const auto from = own_storage(next, k, own);
    if (from && can_be_made_in_place(first, *from, to))
      replace(first, *from, to);
    else
      copy(next[k], operands[k], graph_.type(node.out(k)).dtype, graph_.name(node.out(k)));
  }
  const size_t back = jump(name, {});
  std::get<JumpCall>(out_.steps[back].work).target = begin;
  set_target(to_end);
  return {};
}

// From the step on that first touches `from`, no other one touches `to`.
bool Lowering::can_be_made_in_place(size_t first_step, size_t from, size_t to) const {
  const auto touches = [&](size_t step, size_t storage) {
    const std::vector<size_t> touched = storages_of(out_.steps[step]);
    return std::find(touched.begin(), touched.end(), storage) != touched.end();
  };
  size_t writer = first_step;
  while (writer < out_.steps.size() && !touches(writer, from)) ++writer;
  if (writer == out_.steps.size() || !can_write_over(out_.steps[writer], from, to)) return false;
  for (size_t i = writer + 1; i < out_.steps.size(); ++i)
    if (touches(i, to)) return false;
  return true;
}

}  // namespace cleave
