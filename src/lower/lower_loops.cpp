// The loop nests of calls and groups of calls, and of copies.
#include <algorithm>

#include "lower/collapse.h"
#include "lower/group_check.h"
#include "lower/group_kernel.h"
#include "lower/group_key.h"
#include "lower/lower_node.h"

namespace cleave {

using namespace cleave::loop;

namespace {

// The layout of an operand as the result's dims see it: broadcast dims have stride 0.
std::vector<int64_t> broadcast_strides(const Layout& l, const std::vector<int64_t>& shape) {
  std::vector<int64_t> out(shape.size());
  const size_t lead = shape.size() - l.shape.size();
  for (size_t d = lead; d < shape.size(); ++d)
    out[d] = l.shape[d - lead] == 1 ? 0 : l.strides[d - lead];
  return out;
}

// Loops over `shape`: all but the last dim as one parallel loop, the last one inside.
void nest(KernelBuilder& b, const std::vector<int64_t>& shape,
          const std::function<void(const Exprs&)>& body) {
  if (shape.size() <= 1) return b.parallel(shape, body);
  std::vector<int64_t> outer(shape.begin(), shape.end() - 1);
  b.parallel(outer, [&](const Exprs& i) {
    b.each(Expr(shape.back()), [&](Expr j) {
      Exprs index = i;
      index.push_back(j);
      body(index);
    });
  });
}

// Merges dims of all operands and results of a call whose rule only broadcasts.
std::vector<int64_t> collapse_call(std::vector<Bound>& operands, std::vector<Bound>& results,
                                   const std::vector<int64_t>& shape) {
  StridedDims dims{shape, {}};
  std::vector<Bound*> bounds;
  for (auto* list : {&operands, &results})
    for (Bound& b : *list)
      if (b.buffer >= 0) {
        bounds.push_back(&b);
        dims.strides.push_back(broadcast_strides(b.layout, shape));
      }
  collapse(dims);
  for (size_t k = 0; k < bounds.size(); ++k) {
    // A stride of 0 stands for a broadcast dim of size 1, but the loop still runs over the shape.
    bounds[k]->layout.shape = dims.shape;
    bounds[k]->layout.strides = dims.strides[k];
  }
  return dims.shape;
}

}  // namespace

void Lowering::copy(const Location& from, const Location& to, DType dtype,
                    const std::string& name) {
  copy_all({{from, to}}, dtype, name);
}

// Of more copies than this each is a kernel. Kernels that differ in numbers alone are one
// (schedule/share_kernels.h), however many there are; the loops of one kernel are functions of
// their own, and 4,000 of them took clang 10 s.
void Lowering::copy_all(const std::vector<Copy>& copies, DType dtype, const std::string& name) {
  if (copies.size() <= max_copies_of_a_kernel) return copy_together(copies, dtype, name);
  for (const Copy& c : copies) copy_together({c}, dtype, name);
}

// Copies side by side, one kernel.
void Lowering::copy_together(const std::vector<Copy>& copies, DType dtype,
                             const std::string& name) {
  Call c;
  c.kernel.name = name;
  std::vector<std::vector<int64_t>> shapes;
  for (const auto& [from, to, stored] : copies) {
    c.kernel.work += 2 * to.layout.numel();
    std::vector<Bound> operand = {bind(c.kernel, c.call, from, stored.value_or(dtype), false)};
    std::vector<Bound> result = {bind(c.kernel, c.call, to, dtype, true)};
    shapes.push_back(collapse_call(operand, result, to.layout.shape));
    c.operands.push_back(std::move(operand[0]));
    c.results.push_back(std::move(result[0]));
  }
  const auto& [from, to, stored] = copies[0];
  // All of the storage: only then may that lie where the other does.
  const bool is_whole = copies.size() == 1 && from.storage != to.storage &&
                        out_.storages[to.storage].elements == to.layout.numel();
  if (is_whole && c.operands[0].layout == c.results[0].layout)
    c.call.in_place = {{from.storage, to.storage}};
  c.call.whole_copy = !c.call.in_place.empty() && from.layout.is_contiguous() &&
                      out_.storages[from.storage].elements == from.layout.numel();
  KernelBuilder b(c.kernel, c.operands, c.results);
  for (size_t k = 0; k < copies.size(); ++k) {
    const int at = static_cast<int>(k);
    nest(b, shapes[k], [&](const Exprs& i) { b.store(at, i, b.load(at, i)); });
  }
  finish_call(std::move(c), name, nullptr);
}

// One call as a kernel of its own.
void Lowering::single(NodeId n) {
  const Node& node = graph_.node(n);
  std::vector<std::pair<ValueId, Location>> operands;
  for (const ValueId v : node.inputs)
    if (v.valid()) operands.emplace_back(v, location(v));
  Outputs outputs;
  for (uint32_t k = 0; k < node.output_count; ++k)
    if (!graph_.view(n).out_type(static_cast<int>(k)).is_none && is_wanted(node.out(k)))
      outputs.emplace_back(node.out(k), node.out(k));
  if (!outputs.empty()) group(graph_, {n}, operands, outputs, graph_.name(node.out(0)));
}

namespace {

// The nodes that the values need, in order.
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

}  // namespace

// A body of the host program's own may be no single kernel: then it runs call by call.
Status Lowering::fused(NodeId n, const OpView& op) {
  const Graph& body = *op.graph_attr("body");
  const Node& node = graph_.node(n);
  Outputs outputs;
  std::vector<ValueId> results;
  bool is_kernel = true;
  for (uint32_t k = 0; k < node.output_count; ++k) {
    if (!is_wanted(node.out(k))) continue;
    const ValueId inside = body.returns()[k].value;
    const NodeId def = body.value(inside).def;
    is_kernel &= def.valid() && body.node(def).op->lower.present() &&
                 !std::holds_alternative<ViewRule>((*body.node(def).op->lower)->form) &&
                 std::find(results.begin(), results.end(), inside) == results.end();
    results.push_back(inside);
    outputs.emplace_back(inside, node.out(k));
  }
  if (outputs.empty()) return {};
  const std::vector<NodeId> nodes = needed_nodes(body, results);
  if (!is_kernel || !check_group(body, nodes, results).ok()) {
    CLEAVE_TRY(const Locations at, inlined(body, list_locations(op)));
    for (uint32_t k = 0; k < node.output_count; ++k) at_[node.out(k).v] = at[k];
    return {};
  }
  std::vector<std::pair<ValueId, Location>> operands;
  size_t next = 0;
  for (const Placeholder& p : body.placeholders())
    if (p.role != Role::symint)
      operands.emplace_back(p.value, location(op.list_in(static_cast<int>(next++))));
  group(body, nodes, operands, outputs, graph_.name(node.out(0)));
  return {};
}

void Lowering::group(const Graph& g, const std::vector<NodeId>& nodes,
                     const std::vector<std::pair<ValueId, Location>>& operands,
                     const Outputs& outputs, const std::string& name) {
  Call c;
  c.kernel.name = name;
  std::vector<std::pair<ValueId, Bound>> bounds;
  for (const auto& [v, at] : operands) {
    bounds.emplace_back(v, bind(c.kernel, c.call, at, g.type(v).dtype, false));
    c.kernel.work += at.layout.numel();
  }
  std::vector<GroupResult> results;
  std::vector<size_t> parts;  // storages of more than a result
  for (const auto& [inside, v] : outputs) {
    at_[v.v] = new_result(v);
    if (is_part(v)) parts.push_back(at_[v.v].storage);
    results.push_back({inside, bind(c.kernel, c.call, at_[v.v], g.type(inside).dtype, true)});
    c.kernel.work += at_[v.v].layout.numel();
  }
  const auto add_partial = [&](const std::string& partial, DType dtype, int64_t elements) {
    const Location at{new_storage(partial, dtype, elements), Layout::contiguous({elements})};
    return bind(c.kernel, c.call, at, dtype, true);
  };
  std::string key = group_key(g, nodes, bounds, results, c.kernel);
  auto known = output_.groups.find(key);
  if (known == output_.groups.end()) {
    LoweredGroup made;
    const GroupCode code =
        write_group(g, nodes, bounds, results, c.kernel,
                    [&](const std::string& partial, DType dtype, int64_t elements) {
                      made.partials.push_back({dtype, elements});
                      return add_partial(partial, dtype, elements);
                    });
    made.in_place = code.in_place;
    for (const NodeId n : code.streams)
      made.streams.push_back(
          static_cast<size_t>(std::find(nodes.begin(), nodes.end(), n) - nodes.begin()));
    made.may_fail = has_check(c.kernel.body);
    made.kernel = add_kernel(std::move(c.kernel));
    known = output_.groups.emplace(std::move(key), std::move(made)).first;
  } else {
    for (const LoweredGroup::Partial& p : known->second.partials)
      add_partial(name + ".partial", p.dtype, p.elements);
  }
  const LoweredGroup& lowered = known->second;
  c.call.kernel = lowered.kernel;
  for (const auto& [operand, result] : lowered.in_place) {
    const InPlace pair{c.call.storages[static_cast<size_t>(operand)],
                       c.call.storages[static_cast<size_t>(result)]};
    if (std::ranges::find(parts, pair.result) == parts.end()) c.call.in_place.push_back(pair);
  }
  for (const size_t at : lowered.streams)
    c.call.scalars.push_back(g.view(nodes[at]).int_attr("stream"));
  out_.steps.push_back({name, std::move(c.call), lowered.may_fail});
}

}  // namespace cleave
