#include "lower/lower_cast.h"

#include <algorithm>

namespace cleave {

using namespace cleave::loop;

namespace {

// Whether the call converts `v` itself wherever it reads it, with `v` stored so.
bool converts(const LibraryRule& rule, const OpView& op, ValueId v, DType dtype,
              const LibraryMemory& stored) {
  const std::optional<LibraryForm> form = rule.form(op);
  if (!form) return false;
  return std::ranges::all_of(form->operands, [&](const LibraryOperand& o) {
    if (o.access == LibraryAccess::write || op.in(o.index) != v) return true;
    return o.converts && o.converts(stored.dtype, dtype) && (!o.takes || o.takes(stored.layout));
  });
}

// Whether all readers of `v`, also through views, convert it themselves, with `v` stored so.
bool converters_alone_read(const Lowering& l, ValueId v, const LibraryMemory& stored) {
  const Graph& g = l.graph;
  if (l.values.is_returned(v)) return false;
  return std::ranges::all_of(g.uses(v), [&](const Use& use) {
    const OpView op = g.view(use.node);
    if (!op.def().lower.present()) return false;
    const LowerRule& rule = **op.def().lower;
    if (const auto* library = std::get_if<LibraryRule>(&rule.form))
      return converts(*library, op, v, g.type(v).dtype, stored);
    const auto* view = std::get_if<ViewRule>(&rule.form);
    if (!view) return false;
    for (int k = 0; k < op.out_count(); ++k) {
      const ValueId out = g.node(use.node).out(static_cast<uint32_t>(k));
      if (op.out_type(k).is_none || !l.values.is_wanted(out)) continue;
      const auto seen = view->layout(op, stored.layout, k);
      if (!seen || op.out_type(k).dtype != op.in_type(0).dtype) return false;
      if (!converters_alone_read(l, out, {stored.dtype, *seen})) return false;
    }
    return true;
  });
}

}  // namespace

bool lower_cast(Lowering& l, NodeId n) {
  const OpView op = l.graph.view(n);
  if (op.name() != "_to_copy") return false;
  const DType stored = op.in_type(0).dtype;
  if (stored == op.out_type(0).dtype) return false;
  if (is_floating(stored) && !l.kernels.choices().folds_casts) return false;
  const MemRef& from = l.values.at(op.in(0));
  const ValueId v = l.graph.node(n).out(0);
  if (!l.values.is_wanted(v)) return false;
  if (!converters_alone_read(l, v, {stored, from.layout})) return false;
  l.values.put(v, from);
  return true;
}

}  // namespace cleave
