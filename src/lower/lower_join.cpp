#include "lower/lower_join.h"

#include "lower/lower_copy.h"
#include "lower/undo_view.h"

namespace cleave {

using namespace cleave::loop;

namespace {

// If some operands have been made in the result, copies the others there; false if none has.
bool finish_join(Lowering& l, NodeId n, const KernelRule& rule) {
  const Node& node = l.graph.node(n);
  const ValueId y = node.out(0);
  const std::optional<MemRef> to = l.values.begun(y);
  if (!to) return false;
  const std::vector<Layout> layouts = rule.parts(l.graph.view(n), to->layout);
  std::vector<Copy> copies;
  size_t parts = 0;
  for (size_t k = 0; k < node.inputs.size(); ++k) {
    const MemRef part{to->storage, layouts[k]};
    if (part.layout.numel() == 0) continue;
    const MemRef& is = l.values.at(node.inputs[k]);
    ++parts;
    if (is.storage != part.storage || !same_elements(is.layout, part.layout))
      copies.push_back({is, part});
  }
  if (copies.size() == parts) return false;
  l.values.put(y, *to);
  if (copies.empty()) return true;
  const DType dtype = l.graph.type(y).dtype;
  int64_t copied = 0;
  for (const Copy& c : copies) copied += c.to.layout.numel() * size_of(dtype);
  l.program.storages[to->storage].parts.push_back({y, copied});
  copy_all(l, copies, dtype, l.graph.name(y));
  return true;
}

void copy_operands(Lowering& l, NodeId n, const KernelRule& rule) {
  const Node& node = l.graph.node(n);
  const ValueId y = node.out(0);
  if (!l.values.is_wanted(y)) return;
  const MemRef to = l.values.make(y);
  const std::vector<Layout> layouts = rule.parts(l.graph.view(n), to.layout);
  std::vector<Copy> copies;
  for (size_t k = 0; k < node.inputs.size(); ++k) {
    const ValueId v = node.inputs[k];
    if (layouts[k].numel() > 0)
      copies.push_back({l.values.at(v), {to.storage, layouts[k]}, l.graph.type(v).dtype});
  }
  copy_all(l, copies, l.graph.type(y).dtype, l.graph.name(y));
}

}  // namespace

bool lower_join(Lowering& l, NodeId n, const KernelRule& rule) {
  const OpView op = l.graph.view(n);
  if (is_join(op) && finish_join(l, n, rule)) return true;
  if (!rule.parts || std::cmp_less_equal(op.list_size(), max_copies_of_a_kernel)) return false;
  copy_operands(l, n, rule);
  return true;
}

}  // namespace cleave
