#include "lower/lower_library.h"

#include <algorithm>

#include "lower/lower_copy.h"

namespace cleave {

using namespace cleave::loop;

namespace {

MemRef operand_memory(Lowering& l, ValueId v, const LibraryOperand& operand) {
  const MemRef& at = l.values.at(v);
  if (!operand.takes || operand.takes(at.layout)) return at;
  return dense_copy(l, at, l.graph.type(v).dtype, l.graph.name(v));
}

MemRef make_result(Lowering& l, ValueId v, const LibraryOperand& operand,
                   const LibraryLayouts& layouts) {
  MemRef& at = l.values.make(v);
  if (operand.best && !l.values.has_place(v)) at.layout = operand.best(at.layout.shape, layouts);
  return at;
}

bool is_wanted_result(const Lowering& l, NodeId n, const LibraryOperand& o) {
  return o.access == LibraryAccess::write && !l.graph.view(n).out_type(o.index).is_none &&
         l.values.is_wanted(l.graph.node(n).out(static_cast<uint32_t>(o.index)));
}

void add_library_call(Lowering& l, NodeId n, const LibraryForm& form) {
  const OpView op = l.graph.view(n);
  LibraryCall call;
  LibraryLayouts layouts;
  ValueId first;
  for (const LibraryOperand& o : form.operands) {
    const bool writes = o.access == LibraryAccess::write;
    const ValueId result = writes ? l.graph.node(n).out(static_cast<uint32_t>(o.index)) : ValueId{};
    if (!first.valid()) first = result;
    if (writes && !o.is_required && !is_wanted_result(l, n, o)) continue;
    MemRef at = writes ? make_result(l, result, o, layouts) : operand_memory(l, op.in(o.index), o);
    if (o.part) at.layout = o.part(std::move(at.layout));
    const DType dtype = l.program.storages[at.storage].dtype;
    layouts[o.position] = {dtype, at.layout};
    call.operands.push_back({o.position, at.storage, o.access, dtype, std::move(at.layout)});
  }
  call.spec = form.spec(layouts);
  l.add_thunk(l.graph.name(first), std::move(call));
}

}  // namespace

void lower_library(Lowering& l, NodeId n, const LibraryForm& form) {
  const Node& node = l.graph.node(n);
  const OpView op = l.graph.view(n);
  for (const auto& [result, element] : form.views) {
    const MemRef& whole = l.values.at(op.in(element.operand));
    l.values.put(node.out(static_cast<uint32_t>(result)),
                 {whole.storage, element.part(whole.layout)});
  }
  if (std::ranges::any_of(form.operands,
                          [&](const LibraryOperand& o) { return is_wanted_result(l, n, o); }))
    add_library_call(l, n, form);
  // Results that the call doesn't write, which may be the only ones wanted.
  for (uint32_t k = 0; k < node.output_count; ++k)
    if (const ValueId v = node.out(k);
        !op.out_type(static_cast<int>(k)).is_none && l.values.is_wanted(v) && !l.values.is_made(v))
      l.values.make(v);
}

}  // namespace cleave
