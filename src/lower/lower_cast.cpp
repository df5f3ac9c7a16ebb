// A cast of a placeholder that products alone read, directly or through views, is no step where
// they convert what they read themselves, to the same numbers (LibraryOperand::converts). A weight
// under autocast has no copy, and one of 8 bits no wider one.
//
//   %w.bf16 = _to_copy(%w; dtype=bf16)        at %w
//   %t = permute(%w.bf16; dims=[1,0])         at %w, turned
//   %y = mm(%x, %t)                           reads %w
//
// Placeholders are written by the program's last copies alone (returns()), so that whenever the
// products run they read what the cast would have read.
#include <algorithm>

#include "lower/lower_node.h"

namespace cleave {

using namespace cleave::loop;

namespace {

// That a call reads `v`, which is stored so, as operands that it converts alone.
bool converts(const LibraryRule& rule, const OpView& op, ValueId v, DType dtype,
              const LibraryMemory& stored) {
  const std::optional<LibraryForm> form = rule.form(op);
  if (!form) return false;
  return std::ranges::all_of(form->operands, [&](const LibraryOperand& o) {
    if (o.access == LibraryAccess::write || op.in(o.index) != v) return true;
    return o.converts && o.converts(stored.dtype, dtype) && (!o.takes || o.takes(stored.layout));
  });
}

}  // namespace

bool Lowering::read_converted(NodeId n, const OpView& op) {
  if (op.name() != "_to_copy") return false;
  const DType stored = op.in_type(0).dtype;
  if (stored == op.out_type(0).dtype) return false;
  const Location& from = location(op.in(0));
  const ValueId v = graph_.node(n).out(0);
  if (out_.storages[from.storage].placeholder < 0 || !is_wanted(v)) return false;
  if (!converters_alone_read(v, {stored, from.layout})) return false;
  at_[v.v] = Location(from);
  return true;
}

bool Lowering::converters_alone_read(ValueId v, const LibraryMemory& stored) {
  if (returned_.contains(v.v)) return false;
  if (readers_.empty()) {
    readers_.resize(graph_.value_capacity());
    for (NodeId n = graph_.first_node(); n.valid(); n = graph_.next_node(n))
      for (const ValueId read : graph_.node(n).inputs)
        if (read.valid()) readers_[read.v].push_back(n);
  }
  for (const NodeId n : readers_[v.v]) {
    const OpView op = graph_.view(n);
    if (!graph_.node(n).op->lower.present()) return false;
    const LowerRule& rule = **graph_.node(n).op->lower;
    if (const auto* library = std::get_if<LibraryRule>(&rule.form)) {
      if (!converts(*library, op, v, graph_.type(v).dtype, stored)) return false;
    } else if (const auto* view = std::get_if<ViewRule>(&rule.form)) {
      for (int k = 0; k < op.out_count(); ++k) {
        const ValueId out = graph_.node(n).out(static_cast<uint32_t>(k));
        if (op.out_type(k).is_none || (!is_wanted(out))) continue;
        const auto seen = view->layout(op, stored.layout, k);
        if (!seen || op.out_type(k).dtype != op.in_type(0).dtype) return false;
        if (!converters_alone_read(out, {stored.dtype, *seen})) return false;
      }
    } else {
      return false;
    }
  }
  return true;
}

}  // namespace cleave
