// A library call to a step: what it reads where it lies, or copied where the library doesn't take
// that; results in their places, or where they lie best.
#include "lower/lower_node.h"

namespace cleave {

using namespace cleave::loop;

Location Lowering::library_operand(const OpView& op, const LibraryOperand& operand) {
  const ValueId v = op.in(operand.index);
  Location at = location(v);
  if (operand.takes && !operand.takes(at.layout))
    at = dense_copy(at, graph_.type(v).dtype, graph_.name(v));
  return at;
}

Location Lowering::library_result(ValueId v, const LibraryOperand& operand,
                                  const LibraryLayouts& layouts) {
  Location& at = at_[v.v] = new_result(v);
  if (operand.best && !is_part(v)) at.layout = operand.best(at.layout.shape, layouts);
  return at;
}

bool Lowering::is_wanted_result(const OpView& op, NodeId n, const LibraryOperand& o) const {
  return o.access == LibraryAccess::write && !op.out_type(o.index).is_none &&
         is_wanted(graph_.node(n).out(static_cast<uint32_t>(o.index)));
}

void Lowering::library(NodeId n, const OpView& op, const LibraryForm& form) {
  const Node& node = graph_.node(n);
  for (const auto& [result, element] : form.views) {
    const Location& whole = location(op.in(element.operand));
    at_[node.out(static_cast<uint32_t>(result)).v] = {whole.storage, element.part(whole.layout)};
  }
  if (std::ranges::any_of(form.operands,
                          [&](const LibraryOperand& o) { return is_wanted_result(op, n, o); }))
    library_step(n, op, form);
  // Results that the call has no elements of, which may be all that is wanted.
  for (uint32_t k = 0; k < node.output_count; ++k)
    if (const ValueId v = node.out(k);
        !op.out_type(static_cast<int>(k)).is_none && is_wanted(v) && !at_.contains(v.v))
      at_[v.v] = new_result(v);
}

void Lowering::library_step(NodeId n, const OpView& op, const LibraryForm& form) {
  LibraryCall call;
  LibraryLayouts layouts;
  ValueId first;
  for (const LibraryOperand& o : form.operands) {
    const bool writes = o.access == LibraryAccess::write;
    const ValueId result = writes ? graph_.node(n).out(static_cast<uint32_t>(o.index)) : ValueId{};
    if (!first.valid()) first = result;
    if (writes && !o.is_required && !is_wanted_result(op, n, o)) continue;
    Location at = writes ? library_result(result, o, layouts) : library_operand(op, o);
    if (o.part) at.layout = o.part(std::move(at.layout));
    const DType dtype = out_.storages[at.storage].dtype;
    layouts[o.position] = {dtype, at.layout};
    call.operands.push_back({o.position, at.storage, o.access, dtype, std::move(at.layout)});
  }
  call.spec = form.spec(layouts);
  out_.steps.push_back({graph_.name(first), std::move(call), false});
}

}  // namespace cleave
