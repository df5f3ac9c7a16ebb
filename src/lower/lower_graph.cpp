#include "lower/lower_graph.h"

#include "ir/print.h"
#include "ir/strides.h"
#include "ir/text.h"
#include "lower/lower_copy.h"
#include "lower/lower_node.h"
#include "lower/undo_view.h"

namespace cleave {

using namespace cleave::loop;

namespace {

Layout layout_of(const Type& t) { return {static_shape(t), strides_of(t), 0}; }

Status check_placeholders(const Graph& g) {
  for (const Placeholder& p : g.placeholders()) {
    const Type& t = g.type(p.value);
    if (!t.is_static())
      return bug("lower: %{} has the symbolic type {}; specialise the graph first", g.name(p.value),
                 t.text());
    if (t.dtype == DType::c64)
      return unsupported("lower: %{}: complex numbers have no kernels", g.name(p.value));
  }
  return {};
}

Status check_results(const Graph& g) {
  for (NodeId n = g.first_node(); n.valid(); n = g.next_node(n))
    for (uint32_t k = 0; k < g.node(n).output_count; ++k)
      if (const Type& t = g.type(g.node(n).out(k)); !t.is_none && t.dtype == DType::c64)
        return unsupported("lower: complex numbers have no kernels\n  {}", print_node(g, n));
  return {};
}

void add_placeholders(Lowering& l) {
  for (size_t i = 0; i < l.graph.placeholders().size(); ++i) {
    const ValueId v = l.graph.placeholders()[i].value;
    const Type& t = l.graph.type(v);
    const size_t storage = add_storage(l.program, l.graph.name(v), t.dtype, memory_elements(t));
    l.program.storages[storage].placeholder = static_cast<int>(i);
    l.values.put(v, {storage, layout_of(t)});
  }
}

// A storage of the arena that holds only this value, laid out as its type says: the value's own, or
// that of a copy.
size_t result_storage(Lowering& l, ValueId v) {
  const Type& t = l.graph.type(v);
  const MemRef& at = l.values.at(v);
  const Layout wanted = layout_of(t);
  const Storage& s = l.program.storages[at.storage];
  const bool lies_so =
      at.layout.offset == 0 &&
      (wanted.is_contiguous() ? at.layout.is_contiguous() : same_elements(at.layout, wanted));
  if (lies_so && s.placeholder < 0 && s.elements == memory_elements(t)) return at.storage;
  const MemRef to{add_storage(l.program, l.graph.name(v), t.dtype, memory_elements(t)), wanted};
  copy(l, at, to, t.dtype, l.graph.name(v));
  return to.storage;
}

// Results get storages of their own in the arena; updates are copied into their placeholders at the
// end.
void add_returns(Lowering& l) {
  LoweredProgram& p = l.program;
  std::vector<std::pair<MemRef, ValueId>> updates;
  for (const Return& r : l.graph.returns()) {
    if (r.kind != ReturnKind::update) {
      p.returns.push_back(result_storage(l, r.value));
      continue;
    }
    MemRef from = l.values.at(r.value);
    const MemRef& target = l.values.at(r.target);
    p.returns.push_back(target.storage);
    if (from.storage == target.storage && from.layout == target.layout) continue;
    if (p.storages[from.storage].placeholder >= 0)  // it may be overwritten before it is copied
      from = dense_copy(l, from, l.graph.type(r.value).dtype, l.graph.name(r.value));
    updates.emplace_back(std::move(from), r.target);
  }
  for (const auto& [from, target] : updates) {
    const MemRef& to = l.values.at(target);
    const Storage& s = p.storages[to.storage];
    copy(l, from, to, s.dtype, s.name);
  }
}

}  // namespace

Result<LoweredProgram> lower_graph(const Graph& graph, const LowerChoices& choices) {
  CLEAVE_CHECK(check_placeholders(graph));
  CLEAVE_CHECK(check_results(graph));
  for (const GraphRef& sub : subgraphs_in_order(graph, {})) CLEAVE_CHECK(check_results(*sub));
  LoweredProgram program;
  KernelTable kernels(choices);
  Lowering lowering(graph, program, kernels);
  add_placeholders(lowering);
  CLEAVE_CHECK(lower_nodes(lowering));
  add_returns(lowering);
  program.kernels = std::move(kernels).take();
  return program;
}

}  // namespace cleave
