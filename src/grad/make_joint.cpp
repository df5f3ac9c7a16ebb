// Adds tangents for the differentiable results, runs the sweep, and returns the gradients.
//
//   graph @main(%x: input f32[3] grad) {        graph @main(%x: input f32[3] grad,
//     %y = sin(%x)                                          %tangent.0: tangent f32[3]) {
//     return %y                          ->       %y = sin(%x)
//   }                                             %cos = cos(%x)
//                                                 %grad.x = mul(%tangent.0, %cos)
//                                                 return %y, %grad.x -> grad %x
//                                               }
//
// A gradient lies as its placeholder does, row-major where that lies over itself. A result is
// differentiable if it is floating, isn't an update, and depends on a placeholder
// marked `grad` through differentiable results.
#include <algorithm>

#include "grad/grad.h"
#include "ir/edit.h"
#include "ir/result_strides.h"
#include "ir/strides.h"

namespace cleave {
namespace {

bool is_differentiable(const Graph& g, const Node& node, uint32_t k) {
  const Type& t = g.type(node.out(k));
  const bool cut = k < 32 && (node.op->nondifferentiable >> k & 1) != 0;
  return !t.is_none && is_floating(t.dtype) && !cut;
}

// Which values depend on a placeholder marked grad through differentiable results.
std::vector<bool> depends_on_grad(const Graph& g) {
  std::vector<bool> depends(g.value_capacity());
  for (const Placeholder& p : g.placeholders())
    if (p.wants_grad) depends[p.value.v] = true;
  for (NodeId n = g.first_node(); n.valid(); n = g.next_node(n)) {
    const Node& node = g.node(n);
    bool reached = false;
    for (ValueId v : node.inputs) reached = reached || (v.valid() && depends[v.v]);
    for (uint32_t k = 0; reached && k < node.output_count; ++k)
      depends[node.out(k).v] = is_differentiable(g, node, k);
  }
  return depends;
}

Status check_forward(const Graph& g) {
  if (g.is_joint()) return user_error("@{}: has tangents or gradients already", g.name());
  for (const Placeholder& p : g.placeholders())
    if (p.wants_grad && !is_floating(g.type(p.value).dtype))
      return user_error("%{}: is {}: only floating placeholders have a gradient", g.name(p.value),
                        g.type(p.value).text());
  for (const Return& r : g.returns())
    if (r.kind == ReturnKind::result && is_floating(g.type(r.value).dtype)) return {};
  return user_error("@{}: has no differentiable result: none is floating", g.name());
}

}  // namespace

std::vector<bool> reached_from(const Graph& g, ValueId result) {
  std::vector<bool> reached(g.value_capacity());
  reached[result.v] = true;
  for (NodeId n = g.last_node(); n.valid(); n = g.prev_node(n)) {
    const Node& node = g.node(n);
    bool leads = false;
    for (uint32_t k = 0; k < node.output_count && !leads; ++k)
      leads = reached[node.out(k).v] && is_differentiable(g, node, k);
    for (const ValueId v : node.inputs)
      if (leads && v.valid() && !v.is_number()) reached[v.v] = true;
  }
  return reached;
}

// Gradients get their placeholders' strides, unless elements would lie in one place.
Status lay_as_placeholders(Graph& g, const OpRegistry& ops) {
  ResultStrides layout(g);
  for (size_t k = 0; k < g.returns().size(); ++k) {
    const Return& r = g.returns()[k];
    if (r.kind != ReturnKind::grad) continue;
    const Type& t = g.type(r.target);
    const bool repeats = t.is_static() ? overlaps_itself(t)
                                       : t.strides && std::ranges::count(*t.strides, Dim(0)) > 0;
    if (!repeats) layout.set(k, t.strides);
  }
  return layout.restore(g, ops);
}

Result<Graph> make_joint(const Graph& forward, const OpRegistry& ops) {
  CLEAVE_CHECK(check_forward(forward));
  Graph g = forward;
  const std::vector<bool> depends = depends_on_grad(g);
  GradRequest request;
  for (size_t k = 0; k < forward.returns().size(); ++k) {
    const Return& r = forward.returns()[k];
    if (r.kind != ReturnKind::result || !depends[r.value.v]) continue;
    Type type = g.type(r.value);
    type.strides.reset();
    CLEAVE_TRY(ValueId tangent,
               g.add_placeholder(Role::tangent, g.fresh_name(fmt::format("tangent.{}", k)), type));
    request.outputs.push_back(r.value);
    request.cotangents.push_back(tangent);
  }
  std::vector<ValueId> targets;
  for (const Placeholder& p : g.placeholders())
    if (p.wants_grad) targets.push_back(p.value);
  request.wrt = targets;
  CLEAVE_TRY(Values grads, add_gradients(g, ops, request));
  Builder b(g, ops);
  for (size_t k = 0; k < targets.size(); ++k) {
    if (!grads[k].valid()) {
      b.name_next({g.fresh_name("grad." + g.name(targets[k]))});
      grads[k] = b.full_like(targets[k], 0.0);
      CLEAVE_CHECK(b.status());
    }
    g.add_return({grads[k], ReturnKind::grad, targets[k]});
  }
  eliminate_dead_code(g);
  CLEAVE_CHECK(lay_as_placeholders(g, ops));
  return g;
}

}  // namespace cleave
