// A library call to a step: what it reads where it lies, or copied where the library doesn't take
// that; results in their places, or where they lie best.
#include "lower/lower_node.h"

namespace cleave {

using namespace cleave::loop;

Location Lowering::library_operand(const OpView& op, const LibraryOperand& operand) {
  const ValueId v = op.in(operand.index);
  Location at = at_.at(v.v);
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

void Lowering::library(NodeId n, const OpView& op, const LibraryForm& form) {
  const Node& node = graph_.node(n);
  for (const auto& [result, element] : form.views) {
    const Location& whole = at_.at(op.in(element.operand).v);
    at_[node.out(static_cast<uint32_t>(result)).v] = {whole.storage, element.part(whole.layout)};
  }
  const auto result_of = [&](const LibraryOperand& o) {
    return node.out(static_cast<uint32_t>(o.index));
  };
  const auto is_written = [&](const LibraryOperand& o) {
    return o.access == LibraryAccess::write && !op.out_type(o.index).is_none &&
           is_wanted(result_of(o));
  };
  if (std::ranges::none_of(form.operands, is_written)) return;
  LibraryCall call;
  LibraryLayouts layouts;
  ValueId first;
  for (const LibraryOperand& o : form.operands) {
    const bool writes = o.access == LibraryAccess::write;
    if (writes && !first.valid()) first = result_of(o);
    if (writes && !is_written(o) && !o.is_required) continue;
    Location at = writes ? library_result(result_of(o), o, layouts) : library_operand(op, o);
    if (o.part) at.layout = o.part(std::move(at.layout));
    const DType dtype = out_.storages[at.storage].dtype;
    layouts[o.position] = {dtype, at.layout};
    call.operands.push_back({o.position, at.storage, o.access, dtype, std::move(at.layout)});
  }
  // Results that the call has no elements of.
  for (uint32_t k = 0; k < node.output_count; ++k)
    if (const ValueId v = node.out(k);
        !op.out_type(static_cast<int>(k)).is_none && is_wanted(v) && !at_.contains(v.v))
      at_[v.v] = new_result(v);
  call.spec = form.spec(layouts);
  out_.steps.push_back({graph_.name(first), std::move(call), false});
}

}  // namespace cleave
